// A process that campaigns, acts all the time while it leads, and says when it set out to: by a clock that all processes of a machine share.
// Usage: node --conditions @postern/source --import tsx leader.ts <endpoint of etcd> <seconds that its lease lasts>

import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { runWhileLeading } from "@postern/platform/foundation/store/run-while-leading";
import { createEtcdLeaderElection } from "@postern/stores/etcd/etcd-leader-election";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";

const ACT_EVERY_MS = 5;

const [endpoint = "", ttlSeconds = ""] = process.argv.slice(2);
const storage = await openEtcdStorage({ endpoints: [endpoint] });
const say = (what: string, at = process.hrtime.bigint()): void => void process.stdout.write(`${what} ${at}\n`);

// Taken before it is asked whether this process leads: a standstill between the answer and the act is one that nobody can notice.
let setOutAt = process.hrtime.bigint();
const runtime: Runtime = {
  ...systemRuntime,
  scheduler: {
    schedule: (delayMs, task) =>
      systemRuntime.scheduler.schedule(delayMs, () => {
        setOutAt = process.hrtime.bigint();
        task();
      }),
  },
};

runWhileLeading({
  election: createEtcdLeaderElection({ storage, ttlSeconds: Number(ttlSeconds) }),
  name: "standstill",
  identity: "the one that stands still",
  runtime,
  start({ scheduler }) {
    let timer: Disposable | undefined;
    const act = (): void => {
      say("act", setOutAt);
      timer = scheduler.schedule(ACT_EVERY_MS, act);
    };
    act();
    return [
      {
        [Symbol.dispose]() {
          say("over");
          timer?.[Symbol.dispose]();
        },
      },
    ];
  },
});
// The timers of what is led keep no process.
setInterval(() => {}, 1_000);
