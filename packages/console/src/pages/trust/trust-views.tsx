// The views of trust in others, and of its loss, which are loaded together.

export { LeakReportsPage } from "../leak-reports-page.tsx";
export { ProvidersPage } from "../providers-page.tsx";
export { TrustPage } from "./trust-page.tsx";
export { TrustRulePage } from "./trust-rule-page.tsx";
