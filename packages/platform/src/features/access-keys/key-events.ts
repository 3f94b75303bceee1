// Events about access keys. Creations have none: the audit log records them, and an Event would be a second durable write per key. Events contain no
// secrets. See docs/adr/0040.

import type { PlatformNames } from "@postern/api/platform-names";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ObjectEvent } from "@postern/apiserver/controllers/event-recorder";
import type { AccessKeyState } from "./access-key-state.ts";

export type KeyEventReason =
  | "Disabled"
  | "Enabled"
  | "Expired"
  | "OwnerGone"
  | "Deleted"
  | "Rotated"
  | "Compromised"
  | "RetiredValueUsed"
  | "Leaked"
  | "RetiredValueLeaked"
  | "ExpiresSoon"
  | "NewNetwork"
  | "UsedWithoutProof";

export type KeyEvent = ObjectEvent & { readonly reason: KeyEventReason };

/** Takes an event over; must neither throw nor block. */
export type RecordKeyEvent = (event: KeyEvent) => void;

const MESSAGES: { readonly [reason in KeyEventReason]: string } = {
  Disabled: "The access key was disabled: requests with it are refused until it is enabled",
  Enabled: "The access key was enabled",
  Expired: "The access key was deleted because it expired",
  OwnerGone: "The access key was deleted because its owner does not exist",
  Deleted: "The access key was deleted",
  Rotated: "The access key was rotated",
  Compromised:
    "The access key was rotated because it was compromised: all credentials created with the old value are revoked",
  RetiredValueUsed:
    "An old value was used after its grace period: the access key, and all credentials created with it, are locked until it is rotated again",
  Leaked: "The access key was reported as leaked",
  RetiredValueLeaked:
    "An old value of the access key was reported as leaked: credentials created with it are revoked, the key itself stays valid",
  ExpiresSoon: "The access key expires soon",
  UsedWithoutProof:
    "The value of the access key was used without the client certificate that it is bound to: another party may have it",
  NewNetwork: "The access key was used from a network that it was not used from before",
};

/** Recorded as a Warning. */
const WARNINGS: ReadonlySet<KeyEventReason> = new Set([
  "RetiredValueUsed",
  "Leaked",
  "RetiredValueLeaked",
  "Compromised",
  "ExpiresSoon",
  "NewNetwork",
  "UsedWithoutProof",
]);

export const keyEvent = (
  { apiVersion, kind, metadata }: KubeObject,
  reason: KeyEventReason,
  message = MESSAGES[reason],
): KeyEvent => ({
  involvedObject: { apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "" },
  type: WARNINGS.has(reason) ? "Warning" : "Normal",
  reason,
  message,
});

/** For parts that know the key and not its record. */
export const eventOfKey = (
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
  { name, uid }: Pick<AccessKeyState, "name" | "uid">,
  reason: KeyEventReason,
  message?: string,
): KeyEvent =>
  keyEvent(
    {
      apiVersion: formatApiVersion({ group: managementGroup, version: "v1" }),
      kind: "OwnedAccessKey",
      metadata: { name, uid },
    },
    reason,
    message,
  );
