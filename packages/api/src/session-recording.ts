// Recording of exec and attach: the fields of projects and clusters, and the paths to read recordings.

import { type Infer, s } from "@postern/apimachinery/schema/builder";

const RECORDING_MODES = ["Off", "BestEffort", "Required"] as const;

export type RecordingMode = (typeof RECORDING_MODES)[number];

export const sessionRecordingFields = s.object({
  mode: s
    .string({ enum: RECORDING_MODES })
    .describe(
      "Off, the default: sessions are not recorded. BestEffort: they are recorded where that is possible. Required: a session that cannot be recorded is refused, or ended.",
    ),
  input: s
    .boolean()
    .describe(
      "Whether the input is recorded as well, also where the terminal does not show it, such as passwords. Defaults to false.",
    ),
});

export type SessionRecording = Infer<typeof sessionRecordingFields>;

/** The strictest mode of these, and whether one of those that record asks for the input. */
export function strictestRecording(settings: readonly (SessionRecording | undefined)[]): {
  readonly mode: RecordingMode;
  readonly input: boolean;
} {
  const mode = RECORDING_MODES.findLast((each) => settings.some((setting) => setting?.mode === each)) ?? "Off";
  const input = settings.some((setting) => setting?.input === true && (setting.mode ?? "Off") !== "Off");
  return { mode, input };
}

/**
 * Why a setting records nothing on this server, for warnings to those that set it. Empty where it records, where it is not set, and where it was already
 * the same in `old`.
 */
export function warningsOfRecording(
  setting: SessionRecording | undefined,
  old: SessionRecording | undefined,
  hasDirectory: boolean,
): readonly string[] {
  const { mode = "Off", input } = setting ?? {};
  if (mode === (old?.mode ?? "Off") && input === old?.input) return [];
  if (mode === "Off") {
    return input === true
      ? ["spec.sessionRecording.input: nothing is recorded without spec.sessionRecording.mode BestEffort or Required"]
      : [];
  }
  if (hasDirectory) return [];
  const effect = mode === "Required" ? "exec and attach are refused" : "nothing is recorded";
  return [`spec.sessionRecording.mode: this server has no --session-recording-dir: ${effect}`];
}

/** GET lists the recordings of this server; below it is the recording of a name, as an asciicast. */
export const RECORDINGS_PATH = "/sessionrecordings";

export type SessionRecordingList = {
  /** The newest first. */
  readonly items: readonly SessionRecordingItem[];
  /** Where older ones may follow: the value of the parameter `continue` that lists them. A list may have fewer items than its limit, or none, and go on. */
  readonly continue?: string;
};

/** A recording as the list has it. */
export type SessionRecordingItem = {
  readonly name: string;
  /** When the session began, in RFC 3339. */
  readonly startTime: string;
  readonly durationSeconds: number;
  /** Of the file. */
  readonly bytes: number;
  /** Complete: the session ended, and the recording was closed. Open: it goes on. Interrupted: its server, or the thread of it, was ended. */
  readonly state: "Complete" | "Open" | "Interrupted";
  readonly user: string;
  readonly project: string;
  /** The virtual cluster or space; "" for a session in a connected cluster itself. */
  readonly instance: string;
  /** "" for an external virtual cluster. */
  readonly cluster: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** exec or attach. */
  readonly subresource: string;
  readonly command: readonly string[];
  readonly auditID: string;
  /** Host name of the server that wrote it. */
  readonly server: string;
};
