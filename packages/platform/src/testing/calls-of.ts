// Counts calls of functions by requests to a server of this process, which a loaded machine does not change.

import { Session } from "node:inspector/promises";

export const OURS = /\/packages\/(apimachinery|api|apiserver|cel|kubernetes|platform|stores|structured-merge)\/src\//;
/** Files that send requests, rather than answer them. */
export const ASKING = /\/testing\/|\.test\.ts$/;
/** The answer does not wait for what this does: the second is a timer's, which measures how long the event loop stands still. */
const BESIDE = /\/audit\/file-audit-sink|\/main\.ts$/;

/** The calls of each function that has a name, by file and name: the least of `times` requests. Functions that yield count once more for each time. */
export async function callsOf(request: () => Promise<unknown>, times = 40): Promise<ReadonlyMap<string, number>> {
  await request();
  using session = Object.assign(new Session(), { [Symbol.dispose]: () => session.disconnect() });
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const called = async (): Promise<ReadonlyMap<string, number>> => {
    await session.post("Profiler.takePreciseCoverage");
    await request();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const calls = new Map<string, number>();
    for (const { url, functions } of result) {
      if (!OURS.test(url) || BESIDE.test(url) || ASKING.test(url)) continue;
      for (const { functionName, ranges } of functions) {
        const count = ranges[0]?.count ?? 0;
        const name = `${url} ${functionName}`;
        if (functionName !== "" && count > 0) calls.set(name, (calls.get(name) ?? 0) + count);
      }
    }
    return calls;
  };
  // Work beside requests runs now and then: functions that each of these requests has called are its path.
  let calls = await called();
  for (let turn = 1; turn < times; turn++) {
    const again = await called();
    calls = new Map([...calls].flatMap(([name, count]) => [[name, Math.min(count, again.get(name) ?? 0)] as const]));
  }
  return new Map([...calls].filter(([, count]) => count > 0));
}
