// A leader stands still for longer than its lease lasts, and another one follows: when it goes on, it does nothing more as the leader.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createEtcdLeaderElection } from "@postern/stores/etcd/etcd-leader-election";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, test } from "vitest";

const LEADER = fileURLToPath(new URL("leader.ts", import.meta.url));
/** A leader that is merely slow must not lose it by itself. */
const TTL_SECONDS = 4;
const ROUNDS = 3;

type Said = { readonly what: string; readonly at: bigint };

function startLeader(endpoint: string) {
  const program = ["--conditions", "@postern/source", "--import", "tsx", LEADER, endpoint, String(TTL_SECONDS)];
  const child = spawn(process.execPath, program, { stdio: ["ignore", "pipe", "inherit"] });
  const said: Said[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [what = "", at = "0"] = line.split(" ");
    said.push({ what, at: BigInt(at) });
  });
  const exited = once(child, "exit");
  return {
    said,
    /** Everything that it set out to do after `at`. */
    after: (at: bigint) => said.filter((one) => one.at > at),
    signal: (name: NodeJS.Signals) => void child.kill(name),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

const missing = whyNoEtcd();
test.skipIf(missing !== undefined)("a suspended leader does not act any more once another one leads", async () => {
  await using etcd = await startEtcd();
  const [endpoint = ""] = etcd.endpoints;
  await using storage = await openEtcdStorage({ endpoints: [endpoint] });
  const election = createEtcdLeaderElection({ storage, ttlSeconds: 30 });
  await using still = startLeader(endpoint);
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.hrtime.bigint();
    await expect.poll(() => still.after(before).length).toBeGreaterThan(10);
    still.signal("SIGSTOP");
    const leadership = await election.campaign("standstill", "the one that follows", new AbortController().signal);
    const followedAt = process.hrtime.bigint();
    still.signal("SIGCONT");
    await expect.poll(() => still.after(followedAt).map(({ what }) => what)).toContain("over");
    // It would go on at once, and until its own timer ends that.
    expect(still.after(followedAt).filter(({ what }) => what === "act")).toEqual([]);
    expect(await election.leader("standstill")).toBe("the one that follows");
    await leadership[Symbol.asyncDispose]();
  }
});
