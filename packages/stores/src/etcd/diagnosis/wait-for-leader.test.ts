import { once } from "node:events";
import { connect } from "node:net";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { describe, expect, test } from "vitest";
import { openEtcdStorage } from "../etcd-storage.ts";
import { startEtcd, whyNoEtcd } from "../testing/start-etcd.ts";
import { openWithLeader } from "./wait-for-leader.ts";

const value = Buffer.from("x");
/** Far beyond what a test takes. */
const PATIENCE_MS = 50_000;
const REQUEST_TIMEOUT_MS = 500;

const opener =
  (endpoints: readonly string[]) =>
  (patienceMs: number, onWaiting: (error: StorageUnavailableError) => void, signal?: AbortSignal) =>
    openWithLeader(() => openEtcdStorage({ endpoints, requestTimeoutMs: REQUEST_TIMEOUT_MS }), {
      endpoints,
      patienceMs,
      onWaiting,
      signal,
    });

async function accepts(endpoint: string): Promise<boolean> {
  const [host = "", port = ""] = endpoint.split(":");
  const socket = connect(Number(port), host);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe.skipIf(whyNoEtcd() !== undefined)("an etcd that starts", () => {
  test("is waited for until it has a leader, and no longer than is allowed or wanted", async () => {
    await using etcd = await startEtcd({ size: 2 });
    const open = opener(etcd.endpoints);
    const [first, second] = etcd.members;
    for (const { kill } of etcd.members) await kill();
    // Ready only when it has a leader.
    const started = first!.restart();
    await expect.poll(() => accepts(first!.endpoint), { timeout: PATIENCE_MS }).toBe(true);

    await expect(open(0, () => expect.unreachable("it may not wait"))).rejects.toBeInstanceOf(StorageUnavailableError);
    const stopping = new AbortController();
    let waits = 0;
    const stopped = open(
      PATIENCE_MS,
      () => {
        waits++;
        stopping.abort();
      },
      stopping.signal,
    );
    await expect(stopped).rejects.toBeInstanceOf(StorageUnavailableError);
    expect(waits).toBe(1);

    const reasons: string[] = [];
    let others: Promise<unknown> = Promise.resolve();
    await using storage = await open(PATIENCE_MS, ({ message }) => {
      reasons.push(message);
      others = second!.restart();
    });
    await Promise.all([started, others]);
    expect(reasons).toEqual([expect.stringContaining("cannot be used: ")]);
    expect(await storage.create("/a", value)).toBeGreaterThan(1);
  });

  test("is not waited for where nothing listens, or the failure is final", async () => {
    const waits = () => expect.unreachable("it may not wait");
    await expect(opener(["127.0.0.1:1"])(PATIENCE_MS, waits)).rejects.toThrow("ECONNREFUSED");
    await using etcd = await startEtcd();
    const { endpoints } = etcd;
    const options = { endpoints, patienceMs: PATIENCE_MS, onWaiting: waits };
    await expect(openWithLeader(() => Promise.reject(new RangeError("a bug")), options)).rejects.toThrow("a bug");
    const mustBeInstalled = true;
    {
      await using other = await openEtcdStorage({ endpoints, prefix: "/other" });
      await other.create("/a", value);
    }
    await expect(openWithLeader(() => openEtcdStorage({ endpoints, mustBeInstalled }), options)).rejects.toThrow(
      "keys of other applications",
    );
  });
});
