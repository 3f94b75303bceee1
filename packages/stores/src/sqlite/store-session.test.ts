// The database thread's work, without the thread: how writes gather, how reads take turns, what happens when the disk fails.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { unpackOutcomes, WritePacker } from "./packed-writes.ts";
import { RevisionTable } from "./revision-table.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { openStoreDatabase } from "./sqlite-schema.ts";
import { StoreSession } from "./store-session.ts";
import type { FromWorker, ReadRequest, ToWorker } from "./worker-protocol.ts";

let folder: string;
let sent: FromWorker[];
/** Runs before every statement of a transaction, and may throw. */
let beforeExec: (sql: string) => void;
/** Runs before everything that is read, and may throw. */
let beforeRead: (sql: string) => void;
let database: SqliteDatabase;
let session: StoreSession;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "postern-session-"));
  sent = [];
  beforeExec = () => {};
  beforeRead = () => {};
  database = openFragile();
  session = start();
});
afterEach(() => {
  session.close();
  rmSync(folder, { recursive: true });
});

function openFragile(): SqliteDatabase {
  const real = openStoreDatabase(join(folder, "store.db")).database;
  return {
    exec(sql) {
      beforeExec(sql);
      real.exec(sql);
    },
    prepare(sql) {
      const statement = real.prepare(sql);
      return {
        run: (...parameters) => statement.run(...parameters),
        get(...parameters) {
          beforeRead(sql);
          return statement.get(...parameters);
        },
        iterate(...parameters) {
          beforeRead(sql);
          return statement.iterate(...parameters);
        },
      };
    },
    close: () => real.close(),
  };
}

/** Value of `PRAGMA synchronous`: 2 is FULL, where a commit returns once it is on disk. */
const synchronous = (): unknown => database.prepare("PRAGMA synchronous").get()?.["synchronous"];

function start(): StoreSession {
  return new StoreSession(new RevisionTable(database), (message) => void sent.push(message));
}

type TestWrite = { key: string; value?: string; expected?: number };

function requests(
  writes: readonly TestWrite[],
  reads: readonly ReadRequest[] = [],
): ToWorker & { readonly type: "requests" } {
  const packer = new WritePacker();
  for (const { key, value, expected } of writes) {
    packer.add({ key, expected, value: value === undefined ? undefined : Buffer.from(value) });
  }
  return { type: "requests", reads, ...packer.take() };
}

function ioError(): Error {
  return Object.assign(new Error("disk I/O error"), { errcode: 1034 });
}

function ofType<Type extends FromWorker["type"]>(type: Type): (FromWorker & { type: Type })[] {
  return sent.filter((message): message is FromWorker & { type: Type } => message.type === type);
}

/** By commit. */
const outcomes = () => ofType("committed").map((message) => unpackOutcomes(message.outcomes, message.bytes));

function runToEnd(): void {
  while (session.turn());
}

const list = (id: number): ReadRequest => ({ id, type: "list", prefix: "/", countRemaining: true });

describe("group commit", () => {
  test("all writes that have gathered go into one transaction and one answer", () => {
    const transactions: string[] = [];
    beforeExec = (sql) => void transactions.push(sql);
    for (let message = 0; message < 5; message++)
      session.receive(
        requests([
          { key: `/a${message}`, value: "x" },
          { key: `/b${message}`, value: "y" },
        ]),
      );
    runToEnd();
    expect(transactions).toEqual(["BEGIN", "COMMIT"]);
    expect(ofType("committed")).toHaveLength(1);
    expect(outcomes()[0]).toHaveLength(10);
  });

  test("a transaction is limited, so that the first write does not wait for too long", () => {
    session.receive(requests(Array.from({ length: 2_500 }, (_, index) => ({ key: `/${index}`, value: "x" }))));
    runToEnd();
    expect(outcomes().map(({ length }) => length)).toEqual([1_024, 1_024, 452]);
  });

  test("reads of the same turn see it", () => {
    session.receive(requests([{ key: "/a", value: "x" }], [{ id: 1, type: "get", key: "/a" }]));
    runToEnd();
    expect(sent.map((message) => message.type)).toEqual(["opened", "committed", "entry"]);
    expect(ofType("entry")[0]!.entry?.revision).toBe(2);
  });

  test("writes get their turn between the parts of a long list", () => {
    const value = "x".repeat(10_000);
    session.receive(requests(Array.from({ length: 200 }, (_, index) => ({ key: `/a${index}`, value }))));
    runToEnd();
    session.receive(requests([], [list(1)]));
    session.turn();
    session.receive(requests([{ key: "/a", value: "later" }]));
    runToEnd();
    const order = sent.slice(2).map((message) => message.type);
    expect(order.indexOf("committed")).toBeGreaterThan(order.indexOf("entries"));
    expect(order.indexOf("committed")).toBeLessThan(order.lastIndexOf("entries"));
    expect(ofType("entries").flatMap((part) => part.entries.keys)).toHaveLength(200);
    expect(ofType("entries").at(-1)!.end).toEqual({ revision: 201, remaining: 0 });
  });

  test("writes that have arrived before closing are still done", () => {
    session.receive(requests([{ key: "/a", value: "x" }]));
    session.receive({ type: "close" });
    runToEnd();
    expect(ofType("committed")).toHaveLength(1);
    expect(session.closing).toBe(true);
  });
});

describe("a disk that fails", () => {
  test("before the commit: nothing is stored, the next write succeeds", () => {
    beforeExec = (sql) => {
      if (sql === "COMMIT") throw ioError();
    };
    session.receive(
      requests([
        { key: "/a", value: "x" },
        { key: "/b", value: "y" },
      ]),
    );
    runToEnd();
    expect(ofType("notCommitted")).toMatchObject([
      { count: 2, failure: { kind: "unavailable", message: "disk I/O error" } },
    ]);

    beforeExec = () => {};
    session.receive(requests([{ key: "/a", value: "z" }], [list(1)]));
    runToEnd();
    expect(outcomes()[0]).toEqual([{ type: "written", revision: 2 }]);
    expect(ofType("entries")[0]!.entries.keys).toEqual(["/a"]);
    expect(ofType("stored")).toEqual([]);
  });

  test("after a successful commit: no event is sent twice", () => {
    session.receive(requests([{ key: "/a", value: "x" }]));
    runToEnd();
    beforeExec = (sql) => {
      if (sql === "COMMIT") throw ioError();
    };
    session.receive(requests([{ key: "/b", value: "y" }]));
    runToEnd();
    beforeExec = () => {};
    session.receive(requests([{ key: "/c", value: "z" }]));
    runToEnd();
    expect(ofType("stored")).toEqual([]);
    expect(outcomes().flat()).toMatchObject([{ revision: 2 }, { revision: 3 }]);
  });

  test("although the commit is on disk: its events are sent once it is found", () => {
    let failing = true;
    beforeExec = (sql) => {
      if (sql !== "COMMIT" || !failing) return;
      failing = false;
      database.exec("COMMIT");
      throw ioError();
    };
    session.receive(requests([{ key: "/a", value: "x" }]));
    runToEnd();
    expect(ofType("notCommitted")).toHaveLength(1);

    session.receive(requests([{ key: "/b", value: "y" }]));
    runToEnd();
    expect(ofType("stored")[0]!.events).toMatchObject([{ key: "/a", revision: 2 }]);
    expect(outcomes()[0]).toEqual([{ type: "written", revision: 3 }]);
    const order = sent.map((message) => message.type);
    expect(order.indexOf("stored")).toBeLessThan(order.indexOf("committed"));
  });

  test("although the commit is on disk but cannot be read at once: its events are sent before those of later writes", () => {
    let failing = true;
    beforeExec = (sql) => {
      if (sql !== "COMMIT" || !failing) return;
      failing = false;
      database.exec("COMMIT");
      throw ioError();
    };
    session.receive(requests([{ key: "/a", value: "x" }]));
    runToEnd();
    beforeRead = (sql) => {
      if (sql.includes("LEFT JOIN")) throw ioError();
    };
    session.receive(requests([{ key: "/b", value: "y" }]));
    runToEnd();
    expect(ofType("notCommitted")).toHaveLength(2);
    beforeRead = () => {};
    session.receive(requests([{ key: "/c", value: "z" }]));
    runToEnd();
    expect(ofType("stored").flatMap(({ events }) => events)).toMatchObject([{ key: "/a", revision: 2 }]);
    expect(outcomes()[0]).toEqual([{ type: "written", revision: 3 }]);
  });

  test("for lack of space: nothing is stored, and reads continue", () => {
    beforeExec = (sql) => {
      if (sql === "COMMIT") throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
    };
    session.receive(requests([{ key: "/a", value: "x" }], [list(1)]));
    runToEnd();
    expect(ofType("notCommitted")).toMatchObject([{ count: 1, failure: { kind: "full" } }]);
    expect(ofType("entries")[0]!.entries.keys).toEqual([]);
    beforeExec = () => {};
    session.receive(requests([{ key: "/a", value: "x" }]));
    runToEnd();
    expect(outcomes()[0]).toEqual([{ type: "written", revision: 2 }]);
  });

  test("after all writers have their answers: it is reported", () => {
    const failing = session.join((message) => {
      if (message.type === "stored") throw new Error("this message cannot be sent");
    });
    session.receive(requests([{ key: "/a", value: "x" }]));
    runToEnd();
    expect(outcomes()).toEqual([[{ type: "written", revision: 2 }]]);
    expect(ofType("notCommitted")).toEqual([]);
    expect(ofType("upkeepFailed")).toMatchObject([{ failure: { message: "this message cannot be sent" } }]);
    session.leave(failing);
    session.receive(requests([{ key: "/b", value: "y" }]));
    runToEnd();
    expect(outcomes()[1]).toEqual([{ type: "written", revision: 3 }]);
  });

  test("while sweeping: it is reported once, and retried later without an error", () => {
    session.receive(requests([{ key: "/a", value: "x" }]));
    session.receive(requests([{ key: "/a", value: "y", expected: 2 }]));
    runToEnd();
    let transactions = 0;
    beforeExec = (sql) => {
      if (sql === "COMMIT" && ++transactions === 2) throw ioError();
    };
    session.receive(requests([], [{ id: 1, type: "compact", revision: 3 }]));
    runToEnd();
    expect(ofType("compacted")).toHaveLength(1);
    expect(ofType("upkeepFailed")).toHaveLength(1);
    // Told once, however often it is tried.
    session.receive(requests([], [{ id: 3, type: "get", key: "/a" }]));
    transactions = 1;
    runToEnd();
    expect(ofType("upkeepFailed")).toHaveLength(1);
    beforeExec = () => {};
    session.receive(requests([], [{ id: 2, type: "get", key: "/a" }]));
    runToEnd();
    expect(rowCount()).toBe(1);
    expect(ofType("readFailed")).toEqual([]);
  });
});

describe("compaction", () => {
  test("removes replaced rows and deletions, in small steps, and keeps what can still be read", () => {
    const write = (...writes: TestWrite[]) => session.receive(requests(writes));
    for (let key = 0; key < 300; key++) write({ key: `/${key}`, value: "first" });
    for (let key = 0; key < 300; key++) write({ key: `/${key}`, value: "second", expected: 2 + key });
    for (let key = 0; key < 100; key++) write({ key: `/${key}`, expected: 302 + key });
    write({ key: "/299", value: "third", expected: 601 });
    runToEnd();
    expect(rowCount()).toBe(701);
    session.receive(requests([], [{ id: 1, type: "compact", revision: 701 }]));
    let turns = 1;
    while (session.turn()) turns++;
    expect(turns).toBeGreaterThan(2);
    // 200 live keys, and the successor of one of them.
    expect(rowCount()).toBe(201);

    session.receive(requests([], [{ id: 2, type: "compact", revision: 702 }]));
    runToEnd();
    expect(rowCount()).toBe(200);
  });

  test("waits for the disk as every commit does", () => {
    session.receive(requests([{ key: "/a", value: "x" }]));
    session.receive(requests([{ key: "/a", value: "y", expected: 2 }]));
    runToEnd();
    const levels: unknown[] = [];
    beforeExec = (sql) => void (sql === "COMMIT" && levels.push(synchronous()));
    session.receive(requests([{ key: "/b", value: "z" }], [{ id: 1, type: "compact", revision: 3 }]));
    runToEnd();
    // The write, the mark of the compaction, and the sweep.
    expect(levels).toEqual([2, 2, 2]);
  });

  test("that was interrupted continues after the next open", () => {
    session.receive(requests([{ key: "/a", value: "x" }]));
    session.receive(requests([{ key: "/a", value: "y", expected: 2 }]));
    session.receive(requests([], [{ id: 1, type: "compact", revision: 3 }]));
    let transactions = 0;
    beforeExec = (sql) => {
      if (sql === "BEGIN" && ++transactions > 2) throw ioError();
    };
    runToEnd();
    beforeExec = () => {};
    session = start();
    expect(rowCount()).toBe(2);
    runToEnd();
    expect(rowCount()).toBe(1);
  });
});

function rowCount(): number {
  return Number(database.prepare("SELECT count(*) AS count FROM revisions").get()?.["count"]);
}
