// A button in each block of code that copies its text; of a console the commands alone, without their "$ ".
document.addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return; // a page that is opened as a file in some browsers
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      const lines = block.querySelector("pre").textContent.replace(/\n$/, "").split("\n");
      const commands = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
      await navigator.clipboard.writeText((commands.length ? commands : lines).join("\n"));
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    block.append(button);
  }
});
