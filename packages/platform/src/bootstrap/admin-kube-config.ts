// The kube config of the first administrator: written on the first start, and kept pointing at the server afterwards.

import { join } from "node:path";
import { buildKubeConfig } from "../kube-config/kube-config.ts";
import { createPrivateFile, readFileIfPresent, replacePrivateFile } from "../pki/private-file.ts";

export const ADMIN_KUBE_CONFIG_FILE = "admin.kubeconfig";

const TOKEN_LINE = /^ *token: (\S+)$/m;
const WHAT = "the administrator's kube config";

export type AdminKubeConfigOptions = {
  readonly dataDir: string;
  /** The address of the management API. */
  readonly server: string;
  readonly certificateAuthorityPem: string | undefined;
};

/** The file of the first start. One that is left over from a start that failed is replaced: its key was never confirmed. */
export async function writeAdminKubeConfig(options: AdminKubeConfigOptions, key: string): Promise<void> {
  const path = pathOf(options);
  const text = textOf(options, key);
  if ((await readFileIfPresent(path, WHAT)) === undefined) await createPrivateFile(path, text);
  else await replacePrivateFile(path, text);
}

/**
 * Writes the present address and authority into the file, keeping its key. A file that is gone stays gone, and one that somebody has
 * changed into something else is left alone.
 */
export async function refreshAdminKubeConfig(options: AdminKubeConfigOptions): Promise<void> {
  const path = pathOf(options);
  const current = await readFileIfPresent(path, WHAT);
  const key = current === undefined ? undefined : TOKEN_LINE.exec(current)?.[1];
  if (current === undefined || key === undefined) return;
  const text = textOf(options, key);
  if (text !== current) await replacePrivateFile(path, text);
}

export const pathOf = ({ dataDir }: Pick<AdminKubeConfigOptions, "dataDir">): string =>
  join(dataDir, ADMIN_KUBE_CONFIG_FILE);

const textOf = ({ server, certificateAuthorityPem }: AdminKubeConfigOptions, key: string): string =>
  buildKubeConfig({
    server,
    ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }),
    credential: { token: key },
    name: "postern",
  });
