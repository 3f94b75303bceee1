// The kubeconfig of the first administrator: created at the first start, and updated when the server address changes.

import { join } from "node:path";
import { buildKubeconfig } from "../foundation/kubeconfig/kubeconfig.ts";
import { createPrivateFile, readFileIfPresent, replacePrivateFile } from "../foundation/pki/private-file.ts";

export const ADMIN_KUBE_CONFIG_FILE = "admin.kubeconfig";

const TOKEN_LINE = /^ *token: (\S+)$/m;
const WHAT = "the administrator's kubeconfig";

export type AdminKubeconfigDeps = {
  readonly dataDir: string;
  /** The address of the management API. */
  readonly server: string;
  readonly certificateAuthorityPem: string | undefined;
  /** Whether the store outlives its server. */
  readonly isLasting: boolean;
};

/** Before a kubeconfig that is invalid as soon as its server has stopped. */
const PASSING = "# Of a store in memory: each start writes another one.\n";

/**
 * The file of the first start. One that is there already is kept beside it: it is left over from a start that failed, or it opens
 * another store, where it may be all that an administrator has.
 */
export async function writeAdminKubeconfig(deps: AdminKubeconfigDeps, key: string): Promise<void> {
  const path = pathOf(deps);
  const text = textOf(deps, key);
  const earlier = await readFileIfPresent(path, WHAT);
  if (earlier === undefined) return await createPrivateFile(path, text);
  if (!earlier.startsWith(PASSING)) await keepBeside(path, earlier);
  await replacePrivateFile(path, text);
}

/** Under the first of the names `<path>.1`, `<path>.2`, … that is free, or has the same in it. */
async function keepBeside(path: string, text: string): Promise<void> {
  for (let number = 1; ; number++) {
    const kept = `${path}.${number}`;
    const found = await readFileIfPresent(kept, WHAT);
    if (found === undefined) return await createPrivateFile(kept, text);
    if (found === text) return;
  }
}

/** Writes the present address and authority into the file and keeps its key. A file that was removed, or replaced by another one, is left alone. */
export async function refreshAdminKubeconfig(deps: AdminKubeconfigDeps): Promise<void> {
  const path = pathOf(deps);
  const current = await readFileIfPresent(path, WHAT);
  const key = current === undefined ? undefined : keyIn(current);
  if (current === undefined || key === undefined) return;
  const text = textOf(deps, key);
  if (text !== current) await replacePrivateFile(path, text);
}

/** The key in the file; undefined if there is none. */
export async function readAdministratorKey(deps: Pick<AdminKubeconfigDeps, "dataDir">): Promise<string | undefined> {
  const text = await readFileIfPresent(pathOf(deps), WHAT);
  return text === undefined ? undefined : keyIn(text);
}

const keyIn = (kubeconfig: string): string | undefined => TOKEN_LINE.exec(kubeconfig)?.[1];

export const pathOf = ({ dataDir }: Pick<AdminKubeconfigDeps, "dataDir">): string =>
  join(dataDir, ADMIN_KUBE_CONFIG_FILE);

function textOf({ server, certificateAuthorityPem, isLasting }: AdminKubeconfigDeps, key: string): string {
  const text = buildKubeconfig({
    server,
    ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }),
    credential: { token: key },
    name: "postern",
  });
  return isLasting ? text : `${PASSING}${text}`;
}
