// The user in TokenReviews and SelfSubjectReviews.
// Source: k8s.io/api/authentication/v1/types.go (UserInfo)

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";

export const AUTHENTICATION_GROUP = "authentication.k8s.io";

export const userInfoFields = s.object({
  username: s.string(),
  uid: s.string(),
  groups: s.list(s.string()),
  extra: s.map(s.list(s.string())),
});

/** Empty members are left out, as by Go. */
export const userInfoOf = ({ name, uid, groups, extra }: UserInfo): Infer<typeof userInfoFields> => ({
  ...(name === "" ? {} : { username: name }),
  ...(uid === undefined || uid === "" ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
});
