// Which next steps a person is shown, and which of them are done.

import type { Cluster } from "@postern/api/cluster";
import type { IdentityProvider } from "@postern/api/identity-provider";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { Project } from "@postern/api/project";
import { nameOf } from "../../api/resources.ts";
import { FIRST_KEY, isLogin, isOfKubeconfig } from "../keys/key-state.ts";

/** Later, an installation is not new any more. */
const NEW_MS = 30 * 86_400_000;
/** Created by the first start of a server. */
const FIRST_PROJECT = "default";

export type Step = {
  readonly id: "access" | "key" | "kubeconfig" | "provider" | "project" | "host" | "cluster" | "backup" | "alerts";
  /** The page of the step. */
  readonly to?: string;
  /** A file of the documentation. */
  readonly guide?: string;
  readonly isDone: boolean;
};

export type KeyFacts = {
  /** No key is older than a month. */
  readonly isNew: boolean;
  /** A key that a person created for a program or a machine. */
  readonly hasKey: boolean;
  /** A kubeconfig of the user themselves. */
  readonly hasKubeconfig: boolean;
};

/** In one pass over all keys. `now`: in milliseconds. */
export function keyFacts(keys: readonly OwnedAccessKey[], user: string, now: number): KeyFacts {
  const oldest = new Date(now - NEW_MS).toISOString();
  let isNew = true;
  let hasKey = false;
  let hasKubeconfig = false;
  for (const key of keys) {
    const { creationTimestamp } = key.metadata;
    if (creationTimestamp != null && creationTimestamp < oldest) isNew = false;
    if (isOfKubeconfig(key)) hasKubeconfig ||= key.spec?.user === user;
    else if (!isLogin(key) && key.spec?.type !== "Other") hasKey ||= nameOf(key) !== FIRST_KEY;
  }
  return { isNew, hasKey, hasKubeconfig };
}

export type Found = {
  readonly projects: readonly Project[];
  readonly providers: readonly IdentityProvider[];
  readonly hosts: readonly Cluster[];
  readonly hasBackup: boolean;
  /** A virtual cluster beside that of the first start. */
  readonly hasCluster: boolean;
  /** Notices go to a webhook, or monitoring reads the metrics. Undefined: it is not known. */
  readonly hasAlerts: boolean | undefined;
};

/** The steps of a new installation that the administrator may take. */
export function stepsOfAdministrator(
  { hasKey }: KeyFacts,
  { projects, providers, hosts, hasBackup, hasCluster, hasAlerts }: Found,
  may: { readonly provider: boolean; readonly host: boolean; readonly backup: boolean },
): readonly Step[] {
  return [
    { id: "key", to: "/new/key", guide: "/docs/guides/access-keys", isDone: hasKey },
    ...(may.provider
      ? [
          {
            id: "provider",
            to: "/new/identity-provider",
            guide: "/docs/guides/sign-in",
            isDone: providers.length > 0,
          } as const,
        ]
      : []),
    {
      id: "project",
      to: "/new/project",
      guide: "/docs/guides/tenants",
      isDone: projects.some((project) => nameOf(project) !== FIRST_PROJECT),
    },
    { id: "cluster", to: "/new/virtual-cluster", guide: "/docs/guides/tenants", isDone: hasCluster },
    ...(may.host
      ? [
          {
            id: "host",
            to: "/new/host-cluster",
            guide: "/docs/guides/connected-clusters",
            isDone: hosts.some(({ spec }) => spec?.local !== true),
          } as const,
        ]
      : []),
    ...(may.backup ? [{ id: "backup", guide: "/docs/operations/backup", isDone: hasBackup } as const] : []),
    ...(hasAlerts === undefined
      ? []
      : [{ id: "alerts", guide: "/docs/operations/alerts", isDone: hasAlerts } as const]),
  ];
}

/** The steps of a person who uses what others set up. */
export const stepsOfMember = ({ hasKey, hasKubeconfig }: KeyFacts, { projects }: Found): readonly Step[] => [
  { id: "access", isDone: projects.length > 0 },
  { id: "kubeconfig", to: "/clusters", isDone: hasKubeconfig },
  { id: "key", to: "/new/key", guide: "/docs/guides/access-keys", isDone: hasKey },
];

export const hasOpenStep = (steps: readonly Step[]): boolean => steps.some(({ isDone }) => !isDone);
