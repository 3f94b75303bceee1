// What test harnesses write into the record of the run beside what is recorded by itself.

import type { RunRecorder } from "./run-record.ts";

/** Shared between the copies of this module that the workers load. */
const RECORDER = Symbol.for("postern run recorder");

type WithRecorder = { [RECORDER]?: RunRecorder };

export const runRecorder = (): RunRecorder | undefined => (globalThis as WithRecorder)[RECORDER];

export function setRunRecorder(recorder: RunRecorder): void {
  (globalThis as WithRecorder)[RECORDER] = recorder;
}

/** `place` says what printed it; what it printed as an error shows nothing that it may print otherwise. */
export function recordOutput(place: string, printed: string, errors = ""): void {
  if (printed !== "") runRecorder()?.write("output", place, Buffer.from(printed));
  if (errors !== "") runRecorder()?.write("output", `${place} (errors)`, Buffer.from(errors));
}

/** What a test gives a tool to read. */
export function recordInput(place: string, text: string): void {
  if (text !== "") runRecorder()?.write("input", place, Buffer.from(text));
}
