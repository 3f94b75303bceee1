// Whom an object belongs to, and who else may use it: fields that several resources share.

import { type Infer, s } from "@postern/apimachinery/schema/builder";

export const ownerFields = s.object({
  user: s.string().describe("Name of the user that owns the object."),
  team: s.string().describe("Name of the team that owns the object."),
});
export type Owner = Infer<typeof ownerFields>;

export const accessRuleFields = s.object({
  name: s.string().describe("A name for people to tell the rules apart."),
  verbs: s.list(s.string()).describe("What the rule opens, such as get, use or update; * is everything."),
  subresources: s.list(s.string()).describe("The subresources it opens as well, such as kubeconfig; * is all of them."),
  users: s.list(s.string()).describe("Names of the users it is for; * is every user."),
  teams: s.list(s.string()).describe("Names of the teams it is for."),
});
export type AccessRule = Infer<typeof accessRuleFields>;
