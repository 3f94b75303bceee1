// `postern access approve`, `deny`, `withdraw`, `revoke` and `review`.

import type { AccessDecision } from "@postern/api/access-request";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { objectAt } from "../output/json-members.ts";
import { type OutputFlags, writeAs } from "../output/output-option.ts";
import { plainText } from "../output/plain-text.ts";
import { accessRequestsOf, stateText } from "./access-requests.ts";

export type DecisionFlags = ConnectionFlags & OutputFlags & { readonly message?: string };

export const decideOnRequest = (
  name: string,
  decision: AccessDecision,
  flags: DecisionFlags,
  context: CommandContext,
): Promise<void> =>
  withClient(flags, context, async (client, group) => {
    const requests = accessRequestsOf(client, group);
    const answer = await requests.createSubresource(name, "approval", {
      kind: "AccessApproval",
      spec: { decision, ...(flags.message === undefined ? {} : { message: flags.message }) },
    });
    if (writeAs(flags, objectAt(answer, "status"), context)) return;
    context.stdout.write(`${plainText(stateText(await requests.get(name)))}\n`);
  });
