// The body of a request to the notice webhook: names, times and the owner of a key, and nothing that opens anything.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";
import type { AccessKeyRecord } from "../access-keys/record/access-key-record.ts";
import type { Directory } from "../directory/directory.ts";
import { textOfLeadTime } from "./notice-plan.ts";
import type { PendingNotice } from "./notice-records.ts";

export type NoticeFacts = {
  /** The object of the key. */
  readonly object: OwnedAccessKey | undefined;
  /** Milliseconds since the epoch; undefined: as the status of the object says. */
  readonly usedAt: number | undefined;
  readonly directory: Pick<Directory, "user" | "team">;
  readonly platform: string;
  readonly now: number;
};

export function noticePayload(
  key: AccessKeyRecord,
  { leadSeconds, end }: PendingNotice,
  { object, usedAt, directory, platform, now }: NoticeFacts,
): JsonObject {
  const { displayName } = object?.spec ?? {};
  const lastActivity = usedAt === undefined ? object?.status?.lastActivity : formatTimestamp(usedAt);
  return {
    type: "accesskey.expiring",
    timestamp: new Date(now).toISOString(),
    data: {
      accessKey: {
        name: key.name,
        uid: key.uid,
        ...(displayName === undefined ? {} : { displayName }),
        type: key.type === "" ? "User" : key.type,
        creationTimestamp: formatTimestamp(key.createdAt),
        expirationTimestamp: formatTimestamp(end),
        ...(typeof lastActivity === "string" ? { lastActivity } : {}),
      },
      owner: ownerFields(key.owner, directory),
      leadTime: textOfLeadTime(leadSeconds),
      platform,
    },
  };
}

function ownerFields({ kind, name }: AccessKeyOwner, directory: NoticeFacts["directory"]): JsonObject {
  const user = kind === "user" ? directory.user(name) : undefined;
  const owner = user ?? (kind === "team" ? directory.team(name) : undefined);
  const displayName = owner?.displayName ?? "";
  const email = user?.email ?? "";
  return {
    kind,
    name,
    ...(displayName === "" ? {} : { displayName }),
    ...(email === "" ? {} : { email }),
  };
}
