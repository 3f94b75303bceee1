// The log of an agent: JSON lines, which never have a key in them.

import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import type { Output } from "../command-context.ts";

export type AgentLog = {
  info(message: string, members?: LogMembers): void;
  warn(message: string, members?: LogMembers): void;
};

type LogMembers = { readonly [name: string]: string | number | undefined };

export function createAgentLog(output: Output, now: () => Date): AgentLog {
  const write = (level: string, message: string, members: LogMembers = {}): void => {
    const line = JSON.stringify({ time: now().toISOString(), level, message, ...members });
    output.write(`${redactCredentials(line)}\n`);
  };
  return {
    info: (message, members) => write("info", message, members),
    warn: (message, members) => write("warn", message, members),
  };
}
