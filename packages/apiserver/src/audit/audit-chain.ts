// Writes audit events as lines that each carry the hash of the one before, so that one that is changed or missing is told.

import { createHmac, hash } from "node:crypto";
import { CHAIN_START, PREVIOUS_LINE_ANNOTATION, sealedLine } from "@postern/apimachinery/audit/audit-chain";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { AuditEvent } from "./audit-event.ts";

export type AuditChain = {
  /** The lines of events that are about to be written, each with its line break. Nothing is remembered until `written`. */
  linesOf(events: readonly AuditEvent[]): { readonly text: string; readonly head: string };
  /** The lines whose head this is are in the log. */
  written(head: string): void;
};

/** `head` is the hash of the line to go on from; with `key` each line is sealed. */
export function createAuditChain(head = CHAIN_START, key?: Uint8Array): AuditChain {
  let last = head;
  return {
    linesOf(events) {
      let head = last;
      let lines = "";
      for (const event of events) {
        const annotations = stringifyJson({ ...event.annotations, [PREVIOUS_LINE_ANNOTATION]: head });
        // Behind all other members, wherever they stand in the event.
        const text = `${stringifyJson({ ...event, annotations: undefined }).slice(0, -1)},"annotations":${annotations}}`;
        const line = key === undefined ? text : sealedLine(text, hmacWith(key));
        head = sha256(line);
        lines += `${line}\n`;
      }
      return { text: lines, head };
    },
    written(newHead) {
      last = newHead;
    },
  };
}

/** Lower-case hexadecimal. */
export const hmacWith =
  (key: Uint8Array) =>
  (text: string): string =>
    createHmac("sha256", key).update(text, "utf8").digest("hex");

/** Lower-case hexadecimal. */
export const sha256 = (text: string | Uint8Array): string => hash("sha256", text);
