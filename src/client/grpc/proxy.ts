import { BlockList, isIPv4 } from 'node:net';

/** The variables that name a proxy for gRPC; the first that is set counts. */
const NAMES = ['grpc_proxy', 'https_proxy', 'http_proxy'] as const;

/** The variables that name hosts which are reached without one; the first that is set counts. */
const EXCEPT = ['no_grpc_proxy', 'no_proxy', 'NO_PROXY'] as const;

const LOOPBACK = /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|::1|0:0:0:0:0:0:0:1)$/i;

/** What stands between the client and a service. */
export interface Proxy {
  /** The variable of the environment that names it. */
  readonly variable: string;
  /** Its host and port, without what it asks of users. */
  readonly address: string;
}

/** The host of `host:port`, without the brackets of IPv6. */
export function hostOf(target: string): string {
  return target.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/**
 * The proxy through which gRPC reaches `host:port`, by the rules of its library, but that loopback is
 * always reached without one: the library would ask the proxy of an office for it, too.
 */
export function proxyTo(
  target: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Proxy | undefined {
  const variable = NAMES.find((name) => environment[name]);
  const given = variable === undefined ? '' : (environment[variable] ?? '');
  if (variable === undefined || !URL.canParse(given)) return undefined;
  const { protocol, hostname, port } = new URL(given);
  const host = hostOf(target);
  if (protocol !== 'http:' || LOOPBACK.test(host) || isExcepted(host, environment))
    return undefined;
  return { variable, address: `${hostname}:${port || '80'}` };
}

function isExcepted(
  host: string,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const list = EXCEPT.map((name) => environment[name]).find(Boolean) ?? '';
  const entries = list.split(',').map((entry) => entry.trim().replace(/^\*\./, '.'));
  return entries.some((entry) => entry !== '' && (entry === '*' || matches(host, entry)));
}

/** Whether an entry is the end of a name, or a range that an address lies in. */
function matches(host: string, entry: string): boolean {
  const [, network = '', bits] = /^(.+)\/(\d+)$/.exec(entry) ?? [];
  if (!isIPv4(host) || !isIPv4(network) || Number(bits) > 32) {
    return host.toLowerCase().endsWith(entry.toLowerCase());
  }
  const range = new BlockList();
  range.addSubnet(network, Number(bits));
  return range.check(host);
}
