// `postern access`: asks for access for a limited time, and decides on such requests.

import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withConnectionOptions } from "../connection-options.ts";
import { LIST_FORMATS, withOutputOption } from "../output/output-option.ts";
import { type DecisionFlags, decideOnRequest } from "./decide-on-request.ts";
import { type AccessListFlags, listRequests } from "./list-requests.ts";
import { createRequestCommand } from "./request-access.ts";

const DECISIONS = [
  ["approve", "Approve", "approve access that another user asks for"],
  ["deny", "Deny", "deny access that another user asks for"],
  ["withdraw", "Withdraw", "withdraw an own request, and end access that it gave"],
  ["revoke", "Revoke", "end access that was approved"],
  ["review", "Review", "mark access in an emergency as reviewed"],
] as const;

export function createAccessCommand(context: CommandContext): Command {
  const access = new Command("access").description("access for a limited time, which others approve");
  access.addCommand(withConnectionOptions(withOutputOption(createRequestCommand(context))));
  const list = new Command("list")
    .description("list your requests, and those that you may approve")
    .option("--state <phase,...>", "only requests in one of these phases, such as Pending or Approved,Expired")
    .action((flags: AccessListFlags) => listRequests(flags, context));
  access.addCommand(withConnectionOptions(withOutputOption(list, LIST_FORMATS)));
  for (const [name, decision, description] of DECISIONS) {
    const command = new Command(name)
      .description(description)
      .argument("<name>", "name of the access request")
      .option("--message <text>", "message for the requester")
      .action((request: string, flags: DecisionFlags) => decideOnRequest(request, decision, flags, context));
    access.addCommand(withConnectionOptions(withOutputOption(command)));
  }
  return access;
}
