// Recordings of sessions in words.

import type { SessionRecordingItem } from "@postern/api/session-recording";
import type { Tone } from "../../components/badge.tsx";
import { t } from "../../texts/text.tsx";

export const TONES: { readonly [state in SessionRecordingItem["state"]]: Tone } = {
  Complete: "muted",
  Open: "info",
  Interrupted: "warn",
};

export const commandOf = ({ subresource, command }: SessionRecordingItem): string =>
  subresource === "attach" ? t("recordings.attach") : command.join(" ");

/** Such as `shop/demo/default/web`. */
export const podPathOf = ({ project, instance, cluster, namespace, pod }: SessionRecordingItem): string =>
  [project, instance || cluster, namespace, pod].filter((part) => part !== "").join("/");

/** `5s`, `12m 3s`, `2h 0m`. */
export function durationOf({ durationSeconds }: SessionRecordingItem): string {
  const minutes = Math.floor(durationSeconds / 60);
  const seconds = `${durationSeconds % 60}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m ${seconds}` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}
