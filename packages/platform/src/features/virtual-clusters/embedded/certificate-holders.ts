// Whether the user of a certificate is still allowed: checked at every request, and whenever users and teams change.

import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Directory } from "../../directory/directory.ts";

export type CertificateHolders = {
  /** True for locked users, and for deleted users and teams of the platform. False for other names. */
  isRefused(holder: Pick<UserInfo, "name" | "groups">): boolean;
  /** Calls back after every change of users and teams, until disposed. */
  onChange(listener: () => void): Disposable;
};

/**
 * Certificates of kubeconfigs contain the group of their user, or the name of their team: that user or team must exist.
 */
export function createCertificateHolders(
  directory: Pick<Directory, "user" | "userBySubject" | "team" | "onChange">,
  names: Pick<PlatformNames, "userGroup" | "teamGroup">,
): CertificateHolders {
  const nameBehind = (prefix: string, group: string): string | undefined =>
    group.startsWith(prefix) ? group.slice(prefix.length) : undefined;

  const isGone = (holder: string, group: string): boolean => {
    const user = nameBehind(names.userGroup(""), group);
    if (user === undefined) return false;
    const known = directory.user(user);
    return known === undefined || known.locked || known.subject !== holder;
  };

  return {
    isRefused({ name, groups }) {
      if (directory.userBySubject(name)?.locked === true) return true;
      const team = nameBehind(names.teamGroup(""), name);
      if (team !== undefined && directory.team(team) === undefined) return true;
      return groups.some((group) => isGone(name, group));
    },
    onChange: (listener) => directory.onChange(listener),
  };
}
