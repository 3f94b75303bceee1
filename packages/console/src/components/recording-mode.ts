// The row of projects and host clusters that says whether exec and attach are recorded.

import type { SessionRecording } from "@postern/api/session-recording";
import { t } from "../texts/text.tsx";

/** False where nothing is recorded. */
export function recordingMode(setting: SessionRecording | undefined): readonly [string, string] | false {
  const { mode = "Off" } = setting ?? {};
  return mode !== "Off" && [t("recording.mode"), t(`recording.mode.${mode}`)];
}
