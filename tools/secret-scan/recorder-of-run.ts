// Content that test harnesses record explicitly, in addition to automatic records.

import type { RunRecorder } from "./run-record.ts";

/** Shared between the copies of this module in a worker. */
const RECORDER = Symbol.for("postern run recorder");

type WithRecorder = { [RECORDER]?: RunRecorder };

export const runRecorder = (): RunRecorder | undefined => (globalThis as WithRecorder)[RECORDER];

export function setRunRecorder(recorder: RunRecorder): void {
  (globalThis as WithRecorder)[RECORDER] = recorder;
}

/** `place`: what printed it. Errors may contain no credential that the output may contain. */
export function recordOutput(place: string, printed: string, errors = ""): void {
  if (printed !== "") runRecorder()?.write("output", place, Buffer.from(printed));
  if (errors !== "") runRecorder()?.write("output", `${place} (errors)`, Buffer.from(errors));
}

/** The input that a test gives a tool. */
export function recordInput(place: string, text: string): void {
  if (text !== "") runRecorder()?.write("input", place, Buffer.from(text));
}
