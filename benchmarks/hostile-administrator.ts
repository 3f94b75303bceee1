// An hour of one hostile administrator of a project beside a bystander: everything a tenant can store in numbers, everything it can send at a size,
// and a Table or OpenAPI document of it all, in an order drawn with --seed. The server is in a cgroup of --mebibytes where one can be made: TMPDIR has to be on a disk,
// since files in memory count there. Meanwhile the bystander reads, signs in, revokes keys and writes.
// Exits with 1 if 1 of 100 reads waits longer than 100 ms, a revocation longer than a second, the server ends, or it outgrows --mebibytes.
// Usage: npx tsx --conditions=@postern/source benchmarks/hostile-administrator.ts [--minutes 60] [--mebibytes 1024] [--seed 1]

import { parseArgs } from "node:util";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { API, residentMiB } from "../test/attacks/testing/attacked-server.ts";
import { percentile } from "../test/attacks/testing/denial/bystander.ts";
import { experienceElsewhere } from "../test/attacks/testing/denial/start-bystander.ts";
import { startTenants } from "../test/attacks/testing/denial/tenants.ts";
import { createMemoryCgroup } from "../test/attacks/testing/memory-cgroup.ts";
import { SENT_THINGS } from "../test/attacks/testing/products/sent-things.ts";
import { STORED_THINGS } from "../test/attacks/testing/products/stored-things.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    mebibytes: { type: "string", default: "1024" },
    seed: { type: "string", default: "1" },
  },
});
const endsAt = performance.now() + Number(values.minutes) * 60_000;
const limit = Number(values.mebibytes);
const random = randomNumbers(Number(values.seed));
/** Milliseconds. */
const GOAL = { readP99: 100, revocation: 1_000 } as const;
const AT_ONCE = 20;
/** Times the base of what is stored or sent. */
const MOST_TIMES = 16;
const REQUESTS_A_ROUND = 200;

/** As in a container: Node takes its heap from the limit, and the kernel ends a server that outgrows it. */
await using cgroup = await createMemoryCgroup(limit << 20);
if (cgroup === undefined) console.log("no cgroup can be made here: resident memory is compared with the limit");
// As the image and the systemd unit start it. Warnings name what the event loop was blocked by.
await using tenants = await startTenants({
  objects: 0,
  flags: cgroup === undefined ? ["--memory-limit-mib", String(limit)] : [],
  env: { POSTERN_LOG_LEVEL: "warn", MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" },
  run: cgroup?.run,
});
const { send, target } = tenants;
// Not the user whose waits are measured: these requests take places of their own user.
const bystander = await tenants.newKey("bystander", { user: "attacker" });
const statuses = new Map<number, number>();
/** The first answer of each status that a limit gives. */
const samples = new Map<number, string>();
let isOver = false;
let clusters = 0;
/** Of the rounds. */
const lately: string[] = [];

/** Refusals are what the limits are for. 0: the server closed the connection. */
async function attack(path: string, key: string, request: object = {}): Promise<number> {
  const status = await send(path, { key, ...request }).then(
    (answer) => {
      if (answer.status >= 429 && !samples.has(answer.status)) samples.set(answer.status, answer.text.slice(0, 300));
      return answer.status;
    },
    () => 0,
  );
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  return status;
}

/** Throws with the last of what the server printed if it has ended. */
function expectServer(): void {
  try {
    process.kill(tenants.process.pid, 0);
  } catch {
    throw new Error(`the server has ended:\n${tenants.process.output().slice(-4_000)}`);
  }
}

/** As the tenant: an owner of a project may create as many as its quota allows. Undefined: refused. */
async function newCluster(): Promise<string | undefined> {
  const name = `hostile-${clusters++}`;
  const path = `${API}/namespaces/p-tenant/virtualclusterinstances`;
  const status = await attack(path, target.key, {
    body: { metadata: { name }, spec: { owner: { user: "attacker" } } },
  });
  return status === 201 ? `/kubernetes/project/tenant/virtualcluster/${name}` : undefined;
}

async function round(): Promise<void> {
  const cluster = (await newCluster()) ?? target.cluster;
  const thing = STORED_THINGS[random(STORED_THINGS.length)];
  const times = 1 + random(MOST_TIMES);
  if (thing === undefined) return;
  lately.push(`${thing.name} x ${times}`);
  const store = async (path: string, body: object): Promise<boolean> =>
    (await attack(path.startsWith("/") ? path : `${cluster}/${path}`, target.key, { body })) < 300;
  await thing.before?.(store, thing.base.size * times);
  let next = 0;
  const fill = async (): Promise<void> => {
    for (let index = next++; index < thing.base.count * times && !isOver; index = next++)
      await store(thing.path, thing.object(index, thing.base.size * times));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, fill));
  let sent = 0;
  const ask = async (): Promise<void> => {
    while (sent++ < REQUESTS_A_ROUND && !isOver) {
      const each = SENT_THINGS[random(SENT_THINGS.length)];
      if (each === undefined) continue;
      const size = each.base * (1 + random(MOST_TIMES));
      const path = each.path(size);
      const whole = path.startsWith("/") ? path : `${cluster}/${path}`;
      await attack(whole, each.by === "tenant" ? target.key : bystander, each.request?.(size));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
}

async function hostility(): Promise<void> {
  // In the middle of a round.
  setTimeout(() => (isOver = true), endsAt - performance.now());
  while (!isOver) {
    expectServer();
    await round();
  }
}

/** Series of the server that say where waits come from. */
const TELLING =
  /^(postern_store_operation_duration_seconds|apiserver_event_loop_stall_seconds|nodejs_gc_duration_seconds)_(sum|count)/;

async function printSeries(): Promise<void> {
  const { text } = await send("/metrics", { key: tenants.admin });
  for (const line of text.split("\n")) if (TELLING.test(line)) console.log(line);
}

let mostResident = 0;
const sampling = setInterval(() => {
  void residentMiB(tenants).then((now) => {
    if (now > limit && mostResident <= limit) console.log(`outgrew the limit after: ${lately.join(", ")}`);
    mostResident = Math.max(mostResident, now);
  });
}, 500);
const attacking = hostility();
const { reads, revocations, logins, writes, acceptedAfterwards } = await experienceElsewhere(tenants, attacking);
clearInterval(sampling);
await attacking;
await printSeries();
for (const [status, text] of samples) console.log(`${status}: ${text}`);

/** The longest stalls of the server's event loop, with the requests in progress. */
const stalls = tenants.process
  .output()
  .split("\n")
  .flatMap((line) => (line.includes("the event loop was blocked") ? [JSON.parse(line)] : []))
  .sort((a, b) => b.processorMs - a.processorMs)
  .slice(0, 10);
for (const { stallMs, processorMs, requests } of stalls)
  console.log(`stalled ${stallMs} ms (worked ${processorMs}): ${requests}`);

const at = (times: readonly number[], part: number): number => Math.round(percentile(times, part));
const failures = [reads, logins, revocations, writes].map((each) => each.failures);
console.log(
  JSON.stringify({
    seed: values.seed,
    minutes: values.minutes,
    reads: {
      count: reads.times.length,
      p50: at(reads.times, 0.5),
      p99: at(reads.times, 0.99),
      longest: at(reads.times, 1),
    },
    revocations: {
      count: revocations.times.length,
      p99: at(revocations.times, 0.99),
      longest: at(revocations.times, 1),
    },
    newConnections: { p99: at(logins.times, 0.99) },
    administratorsWrites: { p99: at(writes.times, 0.99), longest: at(writes.times, 1) },
    failures,
    acceptedAfterwards,
    mostResidentMiB: mostResident,
    clusters,
    answers: Object.fromEntries([...statuses].sort(([a], [b]) => a - b)),
  }),
);
const isMet =
  at(reads.times, 0.99) <= GOAL.readP99 &&
  at(revocations.times, 1) <= GOAL.revocation &&
  failures.every((each) => Object.keys(each).length === 0) &&
  acceptedAfterwards === 0 &&
  mostResident <= limit;
console.log(isMet ? "every goal is met" : "a goal is missed");
process.exitCode = isMet ? 0 : 1;
