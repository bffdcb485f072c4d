within Parts.Electrical;
package Examples "Circuits"
end Examples;
