// Loaded into a server that is attacked (`node --import`): how long the longest turn of its event loop took, in processor time of its thread and
// in units of what parsing the largest body takes in the same process, so that a slow or busy machine decides nothing. SIGUSR2 begins; the next
// one writes `{"longestMs": …, "unitMs": …, "retainedBytes": …}` to the file that TURN_WATCH_FILE names, and so on.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

/** Members of an object that are as many as a body may have. */
const MEMBERS = 29_900;
/** Shorter turns are not looked at. */
const SHORT_MS = 4;
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
let turns = 0;

function turn() {
  if (!isOn) return;
  const wall = performance.now();
  // What took no time cannot have used much of it.
  if (wall - at.wall > SHORT_MS) {
    const now = used();
    longestMs = Math.max(longestMs, Math.min(now - at.used, wall - at.wall));
    at = { wall: performance.now(), used: now };
  } else at = { wall, used: turns++ % 16 === 0 ? used() : at.used };
  setImmediate(turn);
}

function toggle() {
  isOn = !isOn;
  if (isOn) {
    longestMs = 0;
    at = { wall: performance.now(), used: used() };
    setImmediate(turn);
  }
  const text = JSON.stringify(isOn ? { isOn } : { isOn, longestMs, unitMs: unit(), retainedBytes: retainedBytes() });
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

if (isMainThread && file !== "") process.on("SIGUSR2", toggle);
