// The views of trust in others, of its loss, and of what was done, which are loaded together.

export { AuditPage } from "../audit-page.tsx";
export { LeakReportsPage } from "../leak-reports-page.tsx";
export { ProvidersPage } from "../providers-page.tsx";
export { TrustPage } from "./trust-page.tsx";
export { TrustRulePage } from "./trust-rule-page.tsx";
