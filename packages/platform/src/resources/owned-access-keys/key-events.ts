// What is told of the life of an access key as Events. Nothing in them has a secret in it.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

export type KeyEventReason = "Created" | "Disabled" | "Enabled" | "Expired" | "OwnerGone" | "Deleted";

export type KeyEvent = {
  readonly involvedObject: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly type: "Normal" | "Warning";
  readonly reason: KeyEventReason;
  readonly message: string;
};

/** Takes an event over; must neither throw nor block. */
export type RecordKeyEvent = (event: KeyEvent) => void;

const MESSAGES: { readonly [reason in KeyEventReason]: string } = {
  Created: "The access key was created",
  Disabled: "The access key was disabled: it opens nothing until it is enabled again",
  Enabled: "The access key was enabled again",
  Expired: "The access key was deleted after the end of its life",
  OwnerGone: "The access key was deleted because its owner is gone",
  Deleted: "The access key was deleted",
};

export const keyEvent = ({ apiVersion, kind, metadata }: KubeObject, reason: KeyEventReason): KeyEvent => ({
  involvedObject: { apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "" },
  type: "Normal",
  reason,
  message: MESSAGES[reason],
});
