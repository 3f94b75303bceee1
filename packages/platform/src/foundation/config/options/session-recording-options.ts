// Options of the recordings of exec and attach.

import { integerOption, textOption } from "../option.ts";

export const sessionRecordingOptions = {
  sessionRecording: {
    dir: textOption({
      flag: "session-recording-dir",
      placeholder: "<directory>",
      default: "",
      defaultText: "none: nothing is recorded, and where recording is required, exec and attach are refused",
      description:
        "Directory for recordings of exec and attach, which spec.sessionRecording of projects and clusters asks for. They are encrypted",
    }),
    maxMiB: integerOption({
      flag: "session-recording-max-mib",
      placeholder: "<MiB>",
      default: 64,
      min: 1,
      max: 65_536,
      description:
        "Size of one recording. At the limit the recording ends, and where it is required, the session with it",
    }),
    maxTotalMiB: integerOption({
      flag: "session-recording-max-total-mib",
      placeholder: "<MiB>",
      default: 10_240,
      min: 1,
      max: 1_048_576,
      description:
        "Size of all recordings. At the limit no new session is recorded, and where recording is required, none begins",
    }),
    maxAgeDays: integerOption({
      flag: "session-recording-max-age-days",
      placeholder: "<days>",
      default: 90,
      min: 0,
      max: 36_500,
      description: "Age at which recordings are deleted; 0 for never",
    }),
  },
};
