// The keys of one server, each for one purpose, all derived from the secret in its key file.

import { hkdfSync } from "node:crypto";
import { join } from "node:path";
import type { Random } from "@postern/apiserver/runtime/clock";
import type { Configuration } from "../config/configuration.ts";
import { loadOrCreateSecret } from "../pki/secret-file.ts";

const SERVER_KEY_FILE = "server.key";
const KEY_BYTES = 32;

export type ServerKeys = {
  /** Access keys are kept as HMACs under it, and their login data is sealed under it. */
  readonly accessKeys: Uint8Array;
  /** What the server keeps for itself, such as the authorities of virtual clusters, is sealed under it. */
  readonly internalRecords: Uint8Array;
  /** Continue tokens are signed with it. */
  readonly continueTokens: Uint8Array;
};

/** The secret is made on the first start; afterwards it must be there. */
export async function loadServerKeys({ dataDir, serverKeyFile }: Configuration, random: Random): Promise<ServerKeys> {
  const path = serverKeyFile === "" ? join(dataDir, SERVER_KEY_FILE) : serverKeyFile;
  const secret = await loadOrCreateSecret(path, "the server key", random);
  const derive = (purpose: string): Uint8Array =>
    new Uint8Array(hkdfSync("sha256", secret, "", `postern ${purpose}`, KEY_BYTES));
  return {
    accessKeys: derive("access keys"),
    internalRecords: derive("internal records"),
    continueTokens: derive("continue tokens"),
  };
}
