// `postern recording play`: shows a recording on the terminal as it was, or writes it out.

import { EventEmitter, once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { RECORDINGS_PATH } from "@postern/api/session-recording";
import { isJsonArray } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { Command, InvalidArgumentError, Option } from "commander";
import type { CommandContext, Output } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { UsageError } from "../usage-error.ts";
import { TERMINAL_RESET, terminalText } from "./terminal-text.ts";

type PlayFlags = ConnectionFlags & {
  readonly format: "terminal" | "text" | "asciicast";
  readonly speed: number;
  readonly maxIdle: number;
};

const DEFAULT_MAX_IDLE = 2;
const MAX_SPEED = 1_000;

export const createRecordingPlayCommand = (context: CommandContext): Command =>
  new Command("play")
    .description("play a recording on the terminal, or write it out")
    .argument("<name>", "name of the recording, as `postern recording list` shows it")
    .addOption(
      new Option("--format <format>", "terminal, text without control sequences, or asciicast for asciinema")
        .choices(["terminal", "text", "asciicast"])
        .default("terminal"),
    )
    .option("--speed <factor>", "how many times as fast as it was", parseFactor, 1)
    .option("--max-idle <seconds>", "longest pause", parseFactor, DEFAULT_MAX_IDLE)
    .action(async (name: string, flags: PlayFlags) => {
      const { stdout, stderr } = context;
      if (flags.format === "terminal" && stdout.isTTY !== true) {
        throw new UsageError(
          "the output is no terminal: --format text writes what was shown, --format asciicast the recording for asciinema",
        );
      }
      await withClient(flags, context, async (client) => {
        const { body } = await client.stream({
          method: "GET",
          path: `${RECORDINGS_PATH}/${encodeURIComponent(name)}`,
          accept: "*/*",
        });
        if (flags.format === "asciicast") await writeCast(body, stdout);
        else stderr.write(await play(body, stdout, flags));
      });
    });

function parseFactor(text: string): number {
  const factor = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (factor <= 0 || factor > MAX_SPEED)
    throw new InvalidArgumentError(`Write a number up to ${MAX_SPEED}, such as 2 or 0.5.`);
  return factor;
}

/** JSON may have the control characters of C1 as they are, which some terminals take. */
async function writeCast(body: AsyncIterable<Uint8Array>, stdout: Output): Promise<void> {
  for await (const line of linesOf(body)) {
    await written(
      stdout,
      `${line.replaceAll(/[\u007f-\u009f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`,
    );
  }
}

/** Resolves with the markers, in lines: how the session ended, and whether its recording ended before. */
async function play(
  body: AsyncIterable<Uint8Array>,
  stdout: Output,
  { format, speed, maxIdle }: PlayFlags,
): Promise<string> {
  const isTerminal = format === "terminal";
  const shown = terminalText(isTerminal);
  let markers = "";
  let isFirst = true;
  let before = 0;
  for await (const line of linesOf(body)) {
    // The first line is the head.
    const event = isFirst ? undefined : parseJson(line);
    isFirst = false;
    if (!isJsonArray(event)) continue;
    const [at, code, text] = event;
    if (typeof at !== "number" || typeof text !== "string") continue;
    // A container may have written a part of one.
    if (code === "m") markers += `${terminalText(false)(text).trim()}\n`;
    if (code !== "o") continue;
    if (isTerminal) await delay((Math.min(at - before, maxIdle) * 1000) / speed);
    before = at;
    await written(stdout, shown(text));
  }
  if (isTerminal) stdout.write(TERMINAL_RESET);
  return markers;
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** Resolves when more may be written. */
async function written(stdout: Output, text: string): Promise<void> {
  const isFull = stdout.write(text) === false;
  if (isFull && stdout instanceof EventEmitter) await once(stdout, "drain");
}
