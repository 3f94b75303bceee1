// The pages of access keys, loaded together.

export { KeyPage } from "./key-page.tsx";
export { KeysPage } from "./keys-page.tsx";
