// The pages about access requests, loaded together.

export { RequestPage } from "./request-page.tsx";
export { RequestsPage } from "./requests-page.tsx";
