// Audience of a request: the management API, or the target of a request through the proxy.

import type { PlatformNames } from "@postern/api/platform-names";
import type { InnerRequest } from "@postern/apiserver/request/request-info";
import { platformAudience } from "../../access-keys/audiences.ts";
import {
  clusterIdentity,
  parseClusterIdentity,
  parseVirtualClusterIdentity,
  virtualClusterIdentity,
} from "../caller.ts";
import { ProxiedCall } from "./proxied-call.ts";

type Names = Pick<PlatformNames, "name" | "projectNamespace">;

/** A path that leads nowhere is answered by the platform. */
export function audienceOfRequest(behind: InnerRequest | undefined, names: Names): string {
  const destination = behind instanceof ProxiedCall ? behind.path?.destination : undefined;
  switch (destination?.target) {
    case "Cluster":
      return clusterIdentity(names, destination.cluster);
    case "ProjectVirtualCluster":
      return virtualClusterIdentity(names, names.projectNamespace(destination.project), destination.virtualCluster);
    case "ProjectSpace":
      return spaceAudience(names, names.projectNamespace(destination.project), destination.space);
    default:
      return platformAudience(names);
  }
}

const spaceAudience = ({ name }: Pick<PlatformNames, "name">, namespace: string, space: string): string =>
  `${name}:space:${namespace}:${space}`;

/** Whether the control plane of a cluster asks. Its audience is its own name. */
export const isClusterIdentity = (user: string, names: Pick<PlatformNames, "name">): boolean =>
  parseClusterIdentity(names, user) !== undefined || parseVirtualClusterIdentity(names, user) !== undefined;

/** Audiences with the name of the platform in front belong to it and its clusters: a review proves those by its sender, not by what it says. */
export const isReservedAudience = (audience: string, { name }: Pick<PlatformNames, "name">): boolean =>
  audience.startsWith(`${name}:`);
