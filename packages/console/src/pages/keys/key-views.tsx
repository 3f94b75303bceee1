// The views of access keys that are loaded together.

export { KeyPage } from "./key-page.tsx";
export { KeysPage } from "./keys-page.tsx";
