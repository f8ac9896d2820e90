import { BlockList, isIPv6 } from 'node:net';

/** Whether a connection comes from a proxy that carries many clients on it. */
export type IsTrusted = (connection: { readonly remoteAddress?: string | undefined }) => boolean;

/** Tells by the address of the connection alone: what headers say of it anyone may send. */
export function trustedProxies(networks: readonly string[]): IsTrusted {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = familyOf(address);
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return ({ remoteAddress: address }) =>
    address !== undefined && list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
