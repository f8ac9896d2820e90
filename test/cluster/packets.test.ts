import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MemoryBudget } from '../../src/admission/memory-budget.js';
import { ENVELOPE_BYTES } from '../../src/cluster/nats/message.js';
import { Nats } from '../../src/cluster/nats/nats.js';
import { Packets } from '../../src/cluster/nats/packets.js';
import { SeedSource } from '../../src/cluster/replica/seed-source.js';
import { deferred } from '../../src/core/deferred.js';
import {
  Packet,
  PieceQuestion,
  SeedAnswer,
  SeedQuestion,
  type SeedAnswer_File,
} from '../../src/gen/vectord/cluster/v1/cluster.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { changeOf, openEngine, ownNatsServer, SILENT } from '../support/replicas.js';

const SUBJECT = 'asked';
const LONG_MS = 20_000;
const MEBIBYTE = 1024 * 1024;

describe.skipIf(HAS_NO_NATS)('packets between nodes (need nats-server)', () => {
  const servers = ownNatsServer();

  async function open(cluster: string, budgetBytes = 2 ** 30) {
    const clusterUrls = servers().addresses.map((address) => `nats://${address}`);
    const nats = await Nats.connect({ clusterUrls, clusterCredentials: undefined });
    onTestFinished(async () => await nats.close());
    const budget = new MemoryBudget(budgetBytes);
    const packets = new Packets(nats, cluster, budget);
    const serve = (subject: string, answer: (question: Uint8Array) => Promise<Uint8Array>): void =>
      packets.serve(subject, answer, ({ code }) => Buffer.from(code));
    return { nats, packets, budget, serve };
  }

  test('bytes that are no packet end nothing', async () => {
    const [asker, holder] = [await open('garbled'), await open('garbled')];
    holder.serve(SUBJECT, async (question) => await Promise.resolve(question));
    await holder.nats.connection.flush();
    const large = new Uint8Array(3 * MEBIBYTE);
    // Where its pieces are is only known from a packet.
    const seen: string[] = [];
    const spy = await open('garbled');
    spy.nats.connection.subscribe('garbled.pieces.*', {
      callback: (_, { subject }) => void seen.push(subject),
    });
    await spy.nats.connection.flush();
    expect((await asker.packets.ask(SUBJECT, large, LONG_MS)).length).toBe(large.length);
    for (const subject of new Set([SUBJECT, ...seen])) {
      for (let length = 0; length < 64; length += 1) {
        asker.nats.send(subject, randomBytes(length));
        asker.nats.send(subject, new Uint8Array(length).fill(0xff));
      }
    }
    await asker.nats.connection.flush();
    expect([...(await asker.packets.ask(SUBJECT, Uint8Array.of(1), LONG_MS))]).toEqual([1]);
    expect((await asker.packets.ask(SUBJECT, large, LONG_MS)).length).toBe(large.length);
  });

  test('an answer that no message has room for ends nothing, nor do others', async () => {
    const [asker, { nats }] = [await open('huge'), await open('huge')];
    const most = nats.maxPayload;
    nats.subscribe(SUBJECT, ([size = 0], answer) => answer(new Uint8Array(most + size)));
    await nats.connection.flush();
    const ask = async (size: number) => await asker.nats.ask(SUBJECT, Uint8Array.of(size), 500);
    await expect(ask(1)).rejects.toThrow('timeout');
    nats.send(SUBJECT, new Uint8Array(most + 1));
    expect((await ask(0)).length).toBe(most);
  });

  test('pieces may be shorter than what was asked for, as from a server that takes less', async () => {
    const [asker, { nats }] = [await open('short'), await open('short')];
    const whole = randomBytes(2 * MEBIBYTE);
    const subject = 'short.pieces.of-a-small-server';
    nats.subscribe(subject, (question, answer) => {
      const { offset, bytes } = PieceQuestion.decode(question);
      answer(whole.subarray(offset, offset + Math.min(bytes, 100_000)));
    });
    const kept = { subject, number: 1, bytes: whole.length };
    nats.subscribe(SUBJECT, (_, answer) => answer(Packet.encode({ kept }).finish()));
    await nats.connection.flush();
    const answer = await asker.packets.ask(SUBJECT, Uint8Array.of(1), LONG_MS);
    expect(Buffer.compare(answer, whole)).toBe(0);
  });

  test('of a copy of the points all that is answered fits into a message', async () => {
    const [{ nats }, asker] = [await open('copies'), await open('copies')];
    const path = makeTemporaryFolder();
    const engine = await openEngine(path);
    await engine.apply(changeOf(engine, 20, 'x'.repeat(100_000)), 1);
    const mostBytes = (): number => nats.maxPayload - ENVELOPE_BYTES;
    const source = new SeedSource(makeTemporaryFolder(), path, mostBytes, SILENT);
    onTestFinished(() => source.close());
    nats.subscribe(SUBJECT, (bytes, answer) => void source.answer(bytes).then(answer));
    await nats.connection.flush();
    const ask = async (question: Partial<SeedQuestion>): Promise<SeedAnswer> => {
      const whole = { copy: 'c0', piece: undefined, isOver: false, ...question };
      return SeedAnswer.decode(await asker.nats.ask(SUBJECT, SeedQuestion.encode(whole).finish()));
    };
    const largest = async (): Promise<SeedAnswer_File | undefined> =>
      (await ask({})).files.find(({ bytes }) => bytes > nats.maxPayload);
    await expect.poll(largest, { timeout: 10_000 }).toBeDefined();
    const file = (await largest())?.name ?? '';
    const { piece } = await ask({ piece: { file, offset: 0n, bytes: 2 ** 31 } });
    expect(piece.length).toBe(mostBytes());
    const name = 'x'.repeat(nats.maxPayload - 100);
    expect((await ask({ copy: name })).fault).toContain('xxx');
    expect((await ask({ piece: { file: name, offset: 0n, bytes: 1 } })).fault).toContain('xxx');
  });

  test('an answer is kept until it is fetched, and no longer', async () => {
    const [{ nats }, holder] = [await open('kept'), await open('kept')];
    const size = 3 * MEBIBYTE;
    holder.serve(SUBJECT, async () => await Promise.resolve(new Uint8Array(size)));
    await holder.nats.connection.flush();
    const { kept } = Packet.decode(await nats.ask(SUBJECT, Packet.encode({}).finish()));
    expect(kept?.bytes).toBe(size);
    const { subject = '', number = 0 } = kept ?? {};
    const piece = async (offset: number, bytes = MEBIBYTE / 2): Promise<number> => {
      const asked = PieceQuestion.encode({ number, offset, bytes }).finish();
      return (await nats.ask(subject, asked)).length;
    };
    for (let offset = 0; offset < size - MEBIBYTE / 2; offset += MEBIBYTE / 2) {
      expect(await piece(offset)).toBe(MEBIBYTE / 2);
    }
    // None is larger than a message may be.
    expect(await piece(0, size)).toBeLessThan(MEBIBYTE);
    expect(await piece(0)).toBe(0);
  });

  test('answers that are kept take their bytes of a budget, and those without room are refused', async () => {
    const size = 3 * MEBIBYTE;
    const [asker, holder] = [await open('full'), await open('full', 5 * MEBIBYTE)];
    holder.serve(SUBJECT, async () => await Promise.resolve(new Uint8Array(size)));
    await holder.nats.connection.flush();
    const { kept } = Packet.decode(await asker.nats.ask(SUBJECT, Packet.encode({}).finish()));
    expect(holder.budget.usedBytes).toBe(size);
    const ask = async () => await asker.packets.ask(SUBJECT, new Uint8Array(), LONG_MS);
    expect(Buffer.from(await ask()).toString()).toBe('OVERLOADED');
    const { subject = '', number = 0 } = kept ?? {};
    for (let offset = 0; offset < size; offset += MEBIBYTE / 2) {
      const asked = PieceQuestion.encode({ number, offset, bytes: MEBIBYTE / 2 }).finish();
      await asker.nats.ask(subject, asked);
    }
    expect(holder.budget.usedBytes).toBe(0);
    expect((await ask()).length).toBe(size);
    expect([holder, asker].map(({ budget }) => budget.usedBytes)).toEqual([0, 0]);
  });

  test('an answer is not fetched where there is no room for it', async () => {
    const [asker, holder] = [await open('small', 2 * MEBIBYTE), await open('small')];
    const answer = new Uint8Array(3 * MEBIBYTE);
    holder.serve(SUBJECT, async () => await Promise.resolve(answer));
    await holder.nats.connection.flush();
    const ask = asker.packets.ask(SUBJECT, new Uint8Array(), LONG_MS);
    await expect(ask).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(asker.budget.usedBytes).toBe(0);
  });

  test('who closes answers what is asked already, and nothing more', async () => {
    const [asker, holder] = [await open('closing'), await open('closing')];
    const { promise: isAsked, resolve: noteAsked } = deferred<undefined>();
    const { promise: mayAnswer, resolve: letAnswer } = deferred<undefined>();
    holder.serve(SUBJECT, async () => {
      noteAsked(undefined);
      await mayAnswer;
      return new Uint8Array(3 * MEBIBYTE);
    });
    await holder.nats.connection.flush();
    const ask = async () => await asker.packets.ask(SUBJECT, new Uint8Array(), LONG_MS);
    const first = ask();
    await isAsked;
    const closed = holder.packets.close().then(async () => await holder.nats.close());
    // The server has heard of it by then.
    await holder.nats.connection.flush();
    await expect(ask()).rejects.toThrow('no responders');
    letAnswer(undefined);
    expect((await first).length).toBe(3 * MEBIBYTE);
    await closed;
  });

  test('many answers at once are more than a NATS server keeps for a connection', async () => {
    const [asker, holder] = [await open('many'), await open('many')];
    for (const [size, count] of [
      [0.9 * MEBIBYTE, 150],
      [3 * MEBIBYTE, 50],
    ] as const) {
      const subject = `${SUBJECT}.${size}`;
      const bytes = new Uint8Array(size);
      holder.serve(subject, async () => await Promise.resolve(bytes));
      await holder.nats.connection.flush();
      const ask = async (): Promise<number> =>
        (await asker.packets.ask(subject, new Uint8Array(), LONG_MS)).length;
      const answers = await Promise.all(Array.from({ length: count }, ask));
      expect(answers.filter((length) => length !== bytes.length)).toEqual([]);
    }
  });

  test('no answer is waited for that a broken connection has lost', async () => {
    const [asker, holder] = [await open('broken'), await open('broken')];
    let asked = 0;
    holder.serve(SUBJECT, async (question) => {
      asked += 1;
      return asked === 1 ? await new Promise(() => undefined) : question;
    });
    await holder.nats.connection.flush();
    const lost = asker.packets.ask(SUBJECT, new Uint8Array(), LONG_MS);
    await expect.poll(() => asked).toBe(1);
    const begunAtMs = performance.now();
    await Promise.all([
      expect(lost).rejects.toThrow('connection'),
      asker.nats.connection.reconnect(),
    ]);
    // What is asked before there is another connection is asked over that one.
    await asker.packets.ask(SUBJECT, new Uint8Array(), LONG_MS);
    expect(performance.now() - begunAtMs).toBeLessThan(LONG_MS / 2);
  });
});
