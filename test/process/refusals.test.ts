import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expectRefusal } from '../support/refusal.js';
import { ownFolder, Vectord } from '../support/vectord.js';

let folder = '';
let dataPath = '';
let keysPath = '';

beforeEach(() => {
  ({ folder, dataPath, keysPath } = ownFolder());
});

describe('a start is refused', () => {
  test('with 2 and all faults when settings are wrong, and touches nothing', async () => {
    const environment = {
      DATA_PATH: dataPath,
      DIMENSION: '12abc',
      HTTP_PORT: '',
      HNSW_M: '1',
      WARM_METRICS: 'cosine,l2',
    };
    const vectord = new Vectord(environment);
    await expectRefusal(
      vectord,
      2,
      'DIMENSION is "12abc", expected an integer from 1 to 65536',
      'HTTP_PORT is "", expected',
      'HNSW_M is "1", expected',
      'WARM_METRICS is "cosine,l2", expected one or more of euclidean, manhattan, hamming, cosine',
    );
    expect(existsSync(dataPath)).toBe(false);
  });

  test('when SERVICE_KEYS_FILE leads nowhere', async () => {
    const path = join(folder, 'missing.json');
    const vectord = new Vectord({ DATA_PATH: dataPath, SERVICE_KEYS_FILE: path });
    await expectRefusal(vectord, 1, path, 'ENOENT');
    expect(existsSync(join(dataPath, 'keys.json'))).toBe(false);
  });

  test('when the keys file has a bad entry, which is named without its key', async () => {
    const entries = [{ name: 'ops', role: 'root', key: 'hunter2' }];
    writeFileSync(keysPath, JSON.stringify({ keys: entries }));
    const vectord = new Vectord({ DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath });
    await expectRefusal(vectord, 1, keysPath, 'keys[0] ("ops")', 'role');
    expect(vectord.stderr).not.toContain('hunter2');
  });

  test.each(['', '{"keys":[]}', '{"keys":[{"name":"admin","role":"readwr'])(
    'when the keys file in the data folder is damaged: %j',
    async (text) => {
      mkdirSync(dataPath);
      const path = join(dataPath, 'keys.json');
      writeFileSync(path, text);
      await expectRefusal(new Vectord({ DATA_PATH: dataPath }), 1, path);
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  test('when DATA_PATH is a file, or below one', async () => {
    const vectord = new Vectord({ DATA_PATH: keysPath });
    await expectRefusal(vectord, 1, keysPath, 'DATA_PATH', 'it is a file, expected a folder');
    const below = new Vectord({ DATA_PATH: join(keysPath, 'data') });
    await expectRefusal(below, 1, join(keysPath, 'data'), 'DATA_PATH', 'ENOTDIR: not a directory');
  });

  test.runIf(process.platform === 'linux')(
    'when DATA_PATH is where no folder can be made: it neither spins nor waits',
    async () => {
      await expectRefusal(
        new Vectord({ DATA_PATH: '/proc/x/y' }),
        1,
        '/proc/x/y',
        'DATA_PATH',
        'ENOENT',
      );
    },
  );
});

describe('when a port is taken, the start is refused', () => {
  let blocker: Server;
  let taken = '';

  beforeEach(async () => {
    blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    taken = String((blocker.address() as AddressInfo).port);
  });

  afterEach(() => blocker.close());

  test.each(['HTTP', 'GRPC'])('with the variable %s_PORT and the address', async (prefix) => {
    const environment = { DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath };
    const vectord = new Vectord({ ...environment, [`${prefix}_PORT`]: taken });
    await expectRefusal(vectord, 1, `127.0.0.1:${taken}`, 'Address already in use');
    expect(vectord.stderr).toContain(
      `another process listens there: set ${prefix}_PORT to a free port, or to 0`,
    );
    await Vectord.start(environment);
  });

  test('and leaves no keys behind, so that the next one shows those that it makes', async () => {
    const environment = { DATA_PATH: dataPath };
    await expectRefusal(new Vectord({ ...environment, HTTP_PORT: taken }), 1, 'HTTP_PORT');
    expect(readdirSync(dataPath).filter((name) => name.startsWith('keys.json'))).toEqual([]);
    await Vectord.start(environment);
    expect(existsSync(join(dataPath, 'keys.json'))).toBe(true);
  });

  test('with both faults when it is both', async () => {
    const ports = { HTTP_PORT: taken, GRPC_PORT: taken };
    const vectord = new Vectord({ DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath, ...ports });
    await expectRefusal(vectord, 1, 'HTTP_PORT', 'GRPC_PORT');
  });
});
