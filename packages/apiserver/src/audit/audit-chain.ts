// Writes audit events as lines that each carry the hash of the one before, so that one that is changed or missing is told.

import { hash } from "node:crypto";
import { CHAIN_START, PREVIOUS_LINE_ANNOTATION } from "@postern/apimachinery/audit/audit-chain";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { AuditEvent } from "./audit-event.ts";

export type AuditChain = {
  /** The lines of events that are about to be written, each with its line break. Nothing is remembered until `written`. */
  linesOf(events: readonly AuditEvent[]): { readonly text: string; readonly head: string };
  /** The lines whose head this is are in the log. */
  written(head: string): void;
};

/** `head` is the hash of the line to go on from. */
export function createAuditChain(head = CHAIN_START): AuditChain {
  let last = head;
  return {
    linesOf(events) {
      let head = last;
      let text = "";
      for (const event of events) {
        const annotations = { ...event.annotations, [PREVIOUS_LINE_ANNOTATION]: head };
        const line = stringifyJson({ ...event, annotations });
        head = sha256(line);
        text += `${line}\n`;
      }
      return { text, head };
    },
    written(newHead) {
      last = newHead;
    },
  };
}

/** Lower-case hexadecimal. */
export const sha256 = (text: string | Uint8Array): string => hash("sha256", text);
