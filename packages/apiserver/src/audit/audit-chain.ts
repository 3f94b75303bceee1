// Writes audit events as a hash chain, so that changed or missing lines are detected.

import { createHmac, createSecretKey, hash } from "node:crypto";
import { CHAIN_START, PREVIOUS_LINE_ANNOTATION, sealedLine } from "@postern/apimachinery/audit/audit-chain";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { AuditEvent } from "./audit-event.ts";

/** An event with its JSON, made once. */
export type AuditLine = {
  /** One that came from another thread is parsed only where it is needed. */
  readonly event: AuditEvent;
  readonly json: string;
  /** Absent: they are read from the event. */
  readonly facts?: LineFacts;
};

export type LineFacts = ShareFacts & { readonly annotations: AnnotationsPlace };

/** The facts that decide whether an event is left out of a file. */
export type ShareFacts = {
  /** Shares its part of a file. */
  readonly client: string;
  /**
   * `always`: no client can hide it behind a flood of its own. `in-share`: it changes nothing, and has a place in the share of its client alone. Any
   * other text: a read that is recorded beyond the share, once.
   */
  readonly recorded: "always" | "in-share" | (string & {});
  /** `stageTimestamp` of the event. */
  readonly at: string;
};

/** Where the JSON of an event has its annotations, which get the hash of the line before. */
export type AnnotationsPlace = "none" | "last" | "elsewhere";

export function annotationsPlaceOf(event: AuditEvent): AnnotationsPlace {
  const { annotations } = event;
  if (annotations === undefined) return "none";
  let last = "";
  for (const member in event) last = member;
  return last === "annotations" && !Object.hasOwn(annotations, PREVIOUS_LINE_ANNOTATION) ? "last" : "elsewhere";
}

export const lineOf = (event: AuditEvent): AuditLine => ({ event, json: stringifyJson(event) });

export type AuditChain = {
  /** The text of lines that are about to be written, each with its line break. Nothing is remembered until `written`. */
  linesOf(lines: readonly AuditLine[]): { readonly text: string; readonly head: string };
  /** The lines up to the one with this hash are in the log. */
  written(head: string): void;
};

/** `head` is the hash of the last line so far; with `key` each line is sealed. */
export function createAuditChain(head = CHAIN_START, key?: Uint8Array): AuditChain {
  let last = head;
  return {
    linesOf(lines) {
      let head = last;
      let written = "";
      for (const unchained of lines) {
        const text = textOf(unchained, head);
        const line = key === undefined ? text : sealedLine(text, hmacWith(key));
        head = sha256(line);
        written += `${line}\n`;
      }
      return { text: written, head };
    },
    written(newHead) {
      last = newHead;
    },
  };
}

/** The annotations come after all other members, and the hash after all other annotations. */
function textOf(line: AuditLine, head: string): string {
  const { json } = line;
  const place = line.facts?.annotations ?? annotationsPlaceOf(line.event);
  if (place === "elsewhere") {
    const { event } = line;
    const chained = stringifyJson({ ...event.annotations, [PREVIOUS_LINE_ANNOTATION]: head });
    return `${stringifyJson({ ...event, annotations: undefined }).slice(0, -1)},"annotations":${chained}}`;
  }
  const link = `"${PREVIOUS_LINE_ANNOTATION}":"${head}"}}`;
  if (place === "none") return `${json.slice(0, -1)},"annotations":{${link}`;
  return json.endsWith("{}}") ? json.slice(0, -2) + link : `${json.slice(0, -2)},${link}`;
}

/** Lower-case hexadecimal. */
export function hmacWith(key: Uint8Array): (text: string) => string {
  // A key object is made once: from bytes, Node would make one for each line, which takes several times as long.
  const secret = createSecretKey(key);
  return (text) => createHmac("sha256", secret).update(text, "utf8").digest("hex");
}

/** Lower-case hexadecimal. */
export const sha256 = (text: string | Uint8Array): string => hash("sha256", text);
