// The description of a session that its recording begins with, and what the list shows of it.

import type { SessionRecordingItem } from "@postern/api/session-recording";
import { isJsonArray, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { headerOf } from "@postern/apiserver/transport/api-request";
import type { StoredRecording } from "./recordings-directory.ts";

export type SessionPlace = {
  /** Absent for a connected cluster itself. */
  readonly project?: string;
  /** The virtual cluster or space. */
  readonly instance?: string;
  /** "" for an instance in no cluster of the platform. */
  readonly cluster: string;
};

/** Clients choose them; the list reads the descriptions of many sessions. */
const MAX_TEXT = 1024;
const MAX_WORDS = 64;

/** The name under which a project owns its recordings. */
export const projectOwner = (project: string): string => `project:${project}`;

/** `server`: its host name. */
export function aboutSession(context: RequestContext, place: SessionPlace, server: string): JsonObject {
  const { audit, caller, credential, info, receivedAt, request, user } = context;
  const { project = "", instance = "", cluster } = place;
  const { query } = request;
  return {
    startTime: new Date(receivedAt).toISOString(),
    auditID: audit.auditId,
    user: user.name,
    ...(caller.name === user.name ? {} : { caller: caller.name }),
    ...(credential === undefined ? {} : { credential: credential.id }),
    sourceIP: request.remoteAddress,
    userAgent: headerOf(request, "user-agent").slice(0, MAX_TEXT),
    project,
    instance,
    cluster,
    namespace: info.namespace,
    pod: info.name,
    container: (query.get("container") ?? "").slice(0, MAX_TEXT),
    subresource: info.subresource,
    command: query
      .getAll("command")
      .slice(0, MAX_WORDS)
      .map((word) => word.slice(0, MAX_TEXT)),
    server,
  };
}

/** The item of a file that this server, or an earlier release, has written: members may be missing. */
export function itemOf({ name, bytes, writtenAt, state, about }: StoredRecording): SessionRecordingItem {
  const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
  const { startTime, command } = about;
  const startedAt = Date.parse(text(startTime));
  return {
    name,
    startTime: text(startTime),
    durationSeconds: Math.max(0, Math.round((writtenAt - startedAt) / 1000)),
    bytes,
    state,
    user: text(about["user"]),
    project: text(about["project"]),
    instance: text(about["instance"]),
    cluster: text(about["cluster"]),
    namespace: text(about["namespace"]),
    pod: text(about["pod"]),
    container: text(about["container"]),
    subresource: text(about["subresource"]),
    command: isJsonArray(command) ? command.map(text) : [],
    auditID: text(about["auditID"]),
    server: text(about["server"]),
  };
}
