// A reporter of vitest that lists the files of a run with the most processor time, so that growth is noticed. It fails nothing.

import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

const SHOWN = 10;

type Cost = { readonly name: string; readonly processorSeconds: number; readonly seconds: number };

export const mostExpensiveFiles: Reporter = {
  onTestRunEnd(modules) {
    if (modules.length > SHOWN) console.log(describeCosts(modules.map(costOf)));
  },
};

function costOf(module: TestModule): Cost {
  const { processorSeconds = 0 } = module.meta();
  const { duration } = module.diagnostic();
  const name = `${module.project.name}: ${relative(process.cwd(), module.moduleId)}`;
  return { name, processorSeconds, seconds: duration / 1000 };
}

export function describeCosts(costs: readonly Cost[]): string {
  const all = costs.reduce((sum, { processorSeconds }) => sum + processorSeconds, 0);
  const most = costs.toSorted((a, b) => b.processorSeconds - a.processorSeconds).slice(0, SHOWN);
  const column = (seconds: number): string => seconds.toFixed(1).padStart(9);
  return [
    `${all.toFixed(0)} s of the processor for ${costs.length} files; most of it:`,
    "  processor    clock  file",
    ...most.map(({ name, processorSeconds, seconds }) => `  ${column(processorSeconds)}${column(seconds)}  ${name}`),
  ].join("\n");
}
