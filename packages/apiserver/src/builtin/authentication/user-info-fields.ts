// How reviews show a user.
// Source: k8s.io/api/authentication/v1/types.go (UserInfo)

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { UserInfo } from "../../authentication/user-info.ts";

export const AUTHENTICATION_GROUP = "authentication.k8s.io";

export const userInfoFields = s.object({
  username: s.string().describe("The name that tells this user from all others."),
  uid: s.string().describe("Tells users of the same name at different times apart."),
  groups: s.list(s.string()).describe("The groups the user is in."),
  extra: s.map(s.list(s.string())).describe("What else the authenticator tells."),
});

export const userInfoOf = ({ name, uid, groups, extra }: UserInfo): Infer<typeof userInfoFields> => ({
  ...(name === "" ? {} : { username: name }),
  ...(uid === undefined || uid === "" ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
});
