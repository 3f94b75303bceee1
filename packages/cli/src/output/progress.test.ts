import { expect, test } from "vitest";
import { createProgress } from "./progress.ts";

function recorder(isTTY: boolean, isForPrograms = false) {
  let time = 0;
  let text = "";
  const stderr = { isTTY, write: (part: string) => (text += part) };
  const progress = createProgress({ stderr, isForPrograms, now: () => time });
  return { progress, wait: (ms: number) => (time += ms), text: () => text };
}

const entries = (done: number, total?: number) => ({ phase: "copying", unit: "entries", done, total });

test("writes a line per tenth of a long phase, and one for its end", () => {
  const { progress, wait, text } = recorder(false);
  for (let done = 0; done < 10_000; done += 500) {
    progress.report(entries(done, 10_000));
    wait(6_000);
  }
  progress.report({ phase: "comparing", unit: "entries", done: 100, total: 10_000 });
  progress[Symbol.dispose]();
  const lines = text().trimEnd().split("\n");
  expect(lines[0]).toBe("copying: 1,000 of 10,000 entries, 10 %, 83/s, 2 min left");
  const shares = ["10", "20", "30", "40", "50", "60", "70", "80", "90", "95"];
  expect(lines.map((line) => /(\d+) %/.exec(line)?.[1])).toEqual(shares);
});

test("is silent about what is soon over", () => {
  const { progress, wait, text } = recorder(false);
  for (let done = 0; done <= 100; done++) {
    progress.report(entries(done, 100));
    wait(90);
  }
  progress[Symbol.dispose]();
  expect(text()).toBe("");
});

test("progress without a total is a line every ten seconds", () => {
  const { progress, wait, text } = recorder(false);
  for (let done = 1; done <= 25; done++) {
    wait(1_000);
    progress.report({ phase: "receiving", unit: "bytes", done: done << 20 });
  }
  progress[Symbol.dispose]();
  // The first report begins the phase.
  expect(text()).toBe(
    "receiving: 11.0 MiB, 1.1 MiB/s\nreceiving: 21.0 MiB, 1.1 MiB/s\nreceiving: 25.0 MiB, 1.0 MiB/s\n",
  );
});

test("rewrites one line of a terminal, and leaves none behind", () => {
  const { progress, wait, text } = recorder(true);
  for (let done = 0; done < 100; done++) {
    progress.report(entries(done, 100));
    wait(10);
  }
  expect(text()).not.toContain("\n");
  expect(text().split("\r").length - 1).toBe(10);
  expect(text()).toContain("copying: 50 of 100 entries, 50 %, 100/s, 1 s left");
  progress[Symbol.dispose]();
  expect(text().endsWith("\r\u001b[K")).toBe(true);
});

test("prints only results to programs, and hints to a terminal", () => {
  const { progress, wait, text } = recorder(false, true);
  for (let done = 0; done < 100; done++) {
    progress.report(entries(done, 100));
    wait(1_000);
  }
  progress[Symbol.dispose]();
  expect(text()).toBe("");
});

test.each([
  [3600 * 5, "5 h left"],
  [600, "10 min left"],
  [42, "42 s left"],
])("names the %d seconds that are left", (seconds, expected) => {
  const { progress, wait, text } = recorder(true);
  progress.report(entries(0, seconds + 1));
  wait(1_000);
  progress.report(entries(1, seconds + 1));
  expect(text()).toContain(expected);
});
