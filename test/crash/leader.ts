// A process that campaigns, acts all the time while it leads, and says when it has: by a clock that all processes of a machine share.
// Usage: node --conditions @postern/source --import tsx leader.ts <endpoint of etcd> <seconds that its lease lasts>

import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { whileLeading } from "@postern/platform/server/while-leading";
import { createEtcdLeaderElection } from "@postern/stores/etcd/etcd-leader-election";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";

const ACT_EVERY_MS = 5;

const [endpoint = "", ttlSeconds = ""] = process.argv.slice(2);
const storage = await openEtcdStorage({ endpoints: [endpoint] });
const say = (what: string): void => void process.stdout.write(`${what} ${process.hrtime.bigint()}\n`);

whileLeading({
  election: createEtcdLeaderElection({ storage, ttlSeconds: Number(ttlSeconds) }),
  name: "standstill",
  identity: "the one that stands still",
  runtime: systemRuntime,
  start({ scheduler }) {
    let timer: Disposable | undefined;
    const act = (): void => {
      say("act");
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
