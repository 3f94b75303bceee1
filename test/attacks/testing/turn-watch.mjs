// Loaded into a server that is attacked (`node --import`): how long the longest turn of its event loop took, in processor time of its thread and
// in units of what parsing the largest body takes in the same process, so that a slow or busy machine decides nothing. SIGUSR2 begins; the next
// one writes `{"longestMs": …, "longestWorkMs": …, "unitMs": …, "retainedBytes": …}` to the file that TURN_WATCH_FILE names, and so on. The longest
// work is that of a turn without collections of garbage: where one looks for long, some fall into any turn.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

/** Members of an object that are as many as a body may have. */
const MEMBERS = 29_900;
/** Shorter turns are not looked at. */
const SHORT_MS = 4;
/** Longer ones are compared with collections of garbage. */
const WORTH_MS = 10;
const file = process.env["TURN_WATCH_FILE"] ?? "";

/** Processor time of the thread that serves everybody. */
const used = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;

function unit() {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: MEMBERS }, (_, index) => [`k${index}`, ""])));
  const times = Array.from({ length: 9 }, () => {
    const before = process.cpuUsage();
    JSON.parse(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return times.sort((a, b) => a - b)[4];
}

/** What is left in memory after everything else was collected. */
function retainedBytes() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

let isOn = false;
let longestMs = 0;
let at = { wall: 0, used: 0 };
/** Turns that were long, and collections: `{ from, to, ms }`, in milliseconds of performance.now(). */
let long = [];
let collections = [];
const collected = (entries) => {
  for (const { startTime, duration } of entries) collections.push({ from: startTime, to: startTime + duration });
};
const observer = new PerformanceObserver((list) => collected(list.getEntries()));

function longestWork() {
  const overlap = (a, b) => Math.max(0, Math.min(a.to, b.to) - Math.max(a.from, b.from));
  const works = long.map((each) => each.ms - collections.reduce((sum, gc) => sum + overlap(each, gc), 0));
  return Math.max(0, ...works);
}

function turn() {
  if (!isOn) return;
  const wall = performance.now();
  // At the end of every turn: an older figure would count the turns since as well, on a busy machine up to the whole of the wait for a processor.
  const now = used();
  // What took no time cannot have used much of it.
  if (wall - at.wall > SHORT_MS) {
    const ms = Math.min(now - at.used, wall - at.wall);
    longestMs = Math.max(longestMs, ms);
    if (ms > WORTH_MS) long.push({ from: at.wall, to: wall, ms });
  }
  at = { wall: performance.now(), used: now };
  // A timer comes in each round of the loop as an immediate does, and lets a server that does nothing rest.
  setTimeout(turn, 1);
}

function toggle() {
  isOn = !isOn;
  if (isOn) {
    longestMs = 0;
    [long, collections] = [[], []];
    observer.observe({ entryTypes: ["gc"] });
    at = { wall: performance.now(), used: used() };
    setTimeout(turn, 1);
  } else {
    collected(observer.takeRecords());
    observer.disconnect();
  }
  const text = JSON.stringify(
    isOn ? { isOn } : { isOn, longestMs, longestWorkMs: longestWork(), unitMs: unit(), retainedBytes: retainedBytes() },
  );
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

if (isMainThread && file !== "") process.on("SIGUSR2", toggle);
