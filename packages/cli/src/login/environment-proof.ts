// The client certificate of POSTERN_CLIENT_CERTIFICATE and POSTERN_CLIENT_KEY, for an access key in POSTERN_TOKEN that is bound to it.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";
import { DPOP_KEY } from "./request-proof.ts";

type Environment = CommandContext["environment"];

const VARIABLES = ["POSTERN_CLIENT_CERTIFICATE", "POSTERN_CLIENT_KEY"] as const;

/** For the process that kubectl runs in another directory. */
export const proofVariables = (
  environment: Environment,
): readonly { readonly name: string; readonly value: string }[] =>
  [...VARIABLES, DPOP_KEY].flatMap((name) => {
    const path = environment[name] ?? "";
    return path === "" ? [] : [{ name, value: resolve(path) }];
  });

/** Throws UsageError. */
export async function environmentProof(
  environment: Environment,
): Promise<{ readonly clientCertificatePem?: string; readonly clientKeyPem?: string }> {
  const [certificate, key] = await Promise.all(
    VARIABLES.map(async (name) => {
      const path = environment[name] ?? "";
      if (path === "") return undefined;
      return await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        throw new UsageError(`cannot read ${path} of ${name} (${error.code})`);
      });
    }),
  );
  if (certificate === undefined && key === undefined) return {};
  if (certificate === undefined || key === undefined) throw new UsageError(`set both ${VARIABLES.join(" and ")}`);
  return { clientCertificatePem: certificate, clientKeyPem: key };
}
