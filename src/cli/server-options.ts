import type { Command } from 'commander';

/** Which service a command speaks to. */
export interface ServerOptions {
  readonly url: string;
  readonly keyFile?: string;
  readonly caFile?: string;
}

/** Adds the options that say which service, and with which key. */
export function withServerOptions(command: Command): Command {
  return command
    .option(
      '--url <URL>',
      'the service: grpc:// or http://, with an s by TLS',
      'grpc://127.0.0.1:50051',
    )
    .option('--key-file <FILE>', 'a file with the key alone; else the variable VECTORD_KEY has it')
    .option('--ca-file <FILE>', 'certificates that grpcs:// trusts, in PEM');
}
