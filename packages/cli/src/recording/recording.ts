// `postern recording`: lists and plays the recordings of exec and attach.

import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withConnectionOptions } from "../connection-options.ts";
import { createRecordingListCommand } from "./list.ts";
import { createRecordingPlayCommand } from "./play.ts";

export const createRecordingCommand = (context: CommandContext): Command =>
  new Command("recording")
    .description("list and play the recordings of sessions in pods")
    .addCommand(withConnectionOptions(createRecordingListCommand(context)))
    .addCommand(withConnectionOptions(createRecordingPlayCommand(context)));
