within Parts.Blocks;
package Examples "Control loops"
end Examples;
