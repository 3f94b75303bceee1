// Runs a churn in a process of its own, so that its memory and its answers are separate. Its argument names the objects; it reports how many lives
// are over, and ends at a message.

import { type ChurnOptions, startChurn } from "../../../benchmarks/load/churn.ts";

export type ChurnReport = {
  readonly lives: number;
  readonly events: number;
  readonly failures: { readonly [status: string]: number };
  readonly longestWait: number;
  readonly isOver: boolean;
};

const churn = await startChurn(JSON.parse(process.argv[2] ?? "") as ChurnOptions);
let longestWait = 0;
const report = (isOver: boolean): void => {
  longestWait = Math.max(longestWait, churn.longestWait());
  process.send?.({ ...churn.counts, longestWait, isOver } satisfies ChurnReport);
};
const timer = setInterval(() => report(false), 200);
process.once("message", async () => {
  await churn.end();
  await churn[Symbol.asyncDispose]();
  clearInterval(timer);
  report(true);
  process.disconnect();
});
