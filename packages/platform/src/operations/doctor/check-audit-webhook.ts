// Checks the file of --audit-webhook-config-file, without asking the receiver.

import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { openEventReceiver } from "../../features/audit/webhook/event-receiver.ts";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

const CHECK = "audit webhook";

/** Nothing where none is configured. */
export async function checkAuditWebhook({ audit, proxyEnvironment }: Configuration): Promise<readonly Finding[]> {
  const file = audit.webhook.configFile;
  if (file === "") return [];
  try {
    await using receiver = await openEventReceiver({ file, proxyEnvironment, scheduler: systemRuntime.scheduler });
    if (!receiver.isTokenWithheld) return [ok(CHECK, `audit events go to ${receiver.host}`)];
    const message = `the token in ${file} is not sent to ${receiver.host}: its address is an http URL`;
    return [warning(CHECK, message, "use an https URL, or leave out the token")];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [fault(CHECK, error.message, "correct the file: the server does not start with it")];
  }
}
