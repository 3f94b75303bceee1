import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createEventLoopLag, type RequestUnderWay } from "./event-loop-lag.ts";

const request = (auditId: string, resource = "configmaps"): RequestUnderWay => ({
  info: { verb: "create", apiGroup: "", apiVersion: "v1", resource, subresource: "" },
  isServed: () => resource !== "<text>",
  audit: { auditId },
});

function watched() {
  const registry = new Registry();
  const stalls = createEventLoopLag(registry);
  const lines: any[] = [];
  let [now, used] = [0, 0];
  let due: { at: number; task: () => void } | undefined;
  const handle = stalls.start({
    clock: { now: () => now, elapsed: () => now },
    scheduler: {
      schedule(delayMs, task) {
        due = { at: now + delayMs, task };
        return { [Symbol.dispose]: () => (due = undefined) };
      },
    },
    logger: { warn: (fields: unknown) => void lines.push(fields) } as any,
    processorMs: () => used,
  });
  return {
    stalls,
    lines,
    handle,
    /** The timer fires so much later than it should. */
    pass(lateMs: number, workMs: number) {
      const planned = due;
      if (planned === undefined) throw new Error("nothing is planned");
      now = planned.at + lateMs;
      used += workMs;
      planned.task();
    },
    isMeasuring: () => due !== undefined,
    count: async (cause: string) => {
      const text = await registry.metrics();
      return Number(new RegExp(`stall_seconds_count\\{cause="${cause}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
    },
  };
}

test("a stall is counted by its cause and logged with the requests of that time", async () => {
  const { stalls, lines, pass, count } = watched();
  const [done, open, watch] = [request("1"), request("2", "<text>"), request("3")];
  for (const one of [done, open, watch]) stalls.began(one);
  pass(10, 10);
  expect(lines).toEqual([]);
  stalls.ended(done);
  pass(700, 690);
  expect(lines).toMatchObject([
    {
      stallMs: 700,
      processorMs: 690,
      requests: "create configmaps (1), create configmaps (3), create (2)",
    },
  ]);
  pass(400, 5);
  pass(60, 60);
  expect(lines).toHaveLength(1);
  expect([await count("work"), await count("waiting")]).toEqual([2, 1]);
});

test("at most ten requests are named, and nothing is measured after the end", () => {
  const { stalls, lines, pass, handle, isMeasuring } = watched();
  for (let at = 0; at < 1_000; at++) stalls.began(request(String(at)));
  pass(300, 300);
  expect(lines[0].requests.split(", ")).toHaveLength(10);
  handle[Symbol.dispose]();
  expect(isMeasuring()).toBe(false);
});
